import { BudgetExhaustedError, type ProbeTurn, type UpstreamHealth } from '#upstream';
import type { RelayJobs } from '../ports.js';
import type { RelayStore } from '../send/relay-store.js';

/** So many lanes are woken at once when an outage is over; what is left finds out by itself, later. */
const MAX_LANES = 1_000;

/** Finds out when an outage is over, so that what waits for it goes on at once. */
export class UpstreamProbe {
  /**
   * @param probe asks upstream, and notes what it saw
   * @param leaseMs longer than a probe can take
   * @param lanes that are woken then; without them only others do that
   */
  constructor(
    private readonly health: Pick<UpstreamHealth, 'takeTurn'>,
    private readonly probe: (account: string) => Promise<void>,
    private readonly leaseMs: number,
    private readonly lanes?: { store: Pick<RelayStore, 'release'>; jobs: RelayJobs },
  ) {}

  /**
   * To be run again and again, in any number of processes.
   * @returns `recovered` where an outage has just ended
   */
  async run(account: string): Promise<ProbeTurn> {
    let turn = await this.health.takeTurn(account, this.leaseMs);
    if (turn === 'probe') {
      await this.ask(account);
      turn = await this.health.takeTurn(account, this.leaseMs);
    }
    // Also by those that only hear of it: the process that saw it may have ended.
    if (turn === 'recovered') await this.release(account);
    return turn;
  }

  private async ask(account: string): Promise<void> {
    try {
      await this.probe(account);
    } catch (error) {
      // Its turn comes again.
      if (!(error instanceof BudgetExhaustedError)) throw error;
    }
  }

  private async release(account: string): Promise<void> {
    if (this.lanes === undefined) return;
    const { store, jobs } = this.lanes;
    const lanes = await store.release(account, MAX_LANES);
    await jobs.wake(account, lanes);
  }
}
