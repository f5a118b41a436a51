import { BudgetExhaustedError, type ProbeTurn, type UpstreamHealth } from '#upstream';
import type { RelayJobs } from '../ports.js';
import type { RelayStore } from '../send/relay-store.js';

/**
 * Maximum number of lanes (recipients' queues of sends) that are woken when an outage ends. Other lanes continue when
 * their current wait is over.
 */
const MAX_LANES = 1_000;

/**
 * Tests during an outage whether upstream works again. When the outage ends, wakes the lanes that waited for its end.
 */
export class UpstreamProbe {
  /**
   * @param probe probes upstream (makes a test request) and records the result
   * @param leaseMs time in which no other process probes upstream, in milliseconds; longer than any probe
   * @param lanes wakes the waiting lanes when the outage ends; absent if another {@link UpstreamProbe} wakes the
   * lanes
   */
  constructor(
    private readonly health: Pick<UpstreamHealth, 'claimProbeTurn' | 'returnProbeTurn'>,
    private readonly probe: (account: string) => Promise<void>,
    private readonly leaseMs: number,
    private readonly lanes?: { store: Pick<RelayStore, 'releaseWaitingLanes'>; jobs: RelayJobs },
  ) {}

  /**
   * Probes upstream if a probe is due. Wakes the waiting lanes if an outage has just ended. Call this method
   * periodically, in any number of processes.
   * @returns `recovered` if an outage has just ended
   */
  async run(account: string): Promise<ProbeTurn> {
    let turn = await this.health.claimProbeTurn(account, this.leaseMs);
    if (turn === 'probe') {
      if (!(await this.probeOrReturnTurn(account))) return 'nothing';
      turn = await this.health.claimProbeTurn(account, this.leaseMs);
    }
    // Every process that notices the end of the outage wakes the lanes, because the process whose probe succeeded may
    // have died before it woke them.
    if (turn === 'recovered') await this.release(account);
    return turn;
  }

  /** Probes upstream. If the request budget has no token, makes no request and returns false. */
  private async probeOrReturnTurn(account: string): Promise<boolean> {
    try {
      await this.probe(account);
      return true;
    } catch (error) {
      if (!(error instanceof BudgetExhaustedError)) throw error;
      await this.health.returnProbeTurn(account, error.retryAfterMs);
      return false;
    }
  }

  private async release(account: string): Promise<void> {
    if (this.lanes === undefined) return;
    const { store, jobs } = this.lanes;
    const lanes = await store.releaseWaitingLanes(account, MAX_LANES);
    await jobs.wake(account, lanes);
  }
}
