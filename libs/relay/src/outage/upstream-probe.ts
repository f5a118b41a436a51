import { BudgetExhaustedError, type ProbeTurn, type UpstreamHealth } from '#upstream';
import type { RelayJobs } from '../ports.js';
import type { RelayStore } from '../send/relay-store.js';

/** Maximum number of lanes that are woken when an outage ends. The other lanes notice the end later by themselves. */
const MAX_LANES = 1_000;

/** Probes upstream during an outage, and wakes the waiting lanes when the outage ends. */
export class UpstreamProbe {
  /**
   * @param probe makes a request to upstream and records the result
   * @param leaseMs lease of one probe in milliseconds, longer than a probe can take
   * @param lanes the lanes to wake when the outage ends; left out if another process wakes them
   */
  constructor(
    private readonly health: Pick<UpstreamHealth, 'takeProbeTurn'>,
    private readonly probe: (account: string) => Promise<void>,
    private readonly leaseMs: number,
    private readonly lanes?: { store: Pick<RelayStore, 'releaseWaitingLanes'>; jobs: RelayJobs },
  ) {}

  /**
   * Probes upstream if a probe is due. Call this method periodically, in any number of processes.
   * @returns `recovered` if an outage has just ended
   */
  async run(account: string): Promise<ProbeTurn> {
    let turn = await this.health.takeProbeTurn(account, this.leaseMs);
    if (turn === 'probe') {
      await this.runProbe(account);
      turn = await this.health.takeProbeTurn(account, this.leaseMs);
    }
    // Every process wakes the lanes: the process whose probe succeeded may have ended.
    if (turn === 'recovered') await this.release(account);
    return turn;
  }

  private async runProbe(account: string): Promise<void> {
    try {
      await this.probe(account);
    } catch (error) {
      // The next turn probes again.
      if (!(error instanceof BudgetExhaustedError)) throw error;
    }
  }

  private async release(account: string): Promise<void> {
    if (this.lanes === undefined) return;
    const { store, jobs } = this.lanes;
    const lanes = await store.releaseWaitingLanes(account, MAX_LANES);
    await jobs.wake(account, lanes);
  }
}
