import type { AgendaHints } from '#platform';
import type { RelayJobs } from '../ports.js';

/** The rounds of the relaying role, and that of the schedule. */
export const RELAY_ROUND = {
  /** Lanes that are due may have lost their hints. */
  reconcile: 'reconcile',
  /** Sightings are to be asked for. */
  confirm: 'confirm',
  /** Sends that wait in their lanes are to end. */
  expire: 'expire',
  /** An outage is to be probed. */
  probe: 'probe',
  /** Finished sends are to be removed. */
  trim: 'trim',
  /** Files that no send needs are to be removed. */
  sweepFiles: 'sweepFiles',
  /** Scheduled sends are due; on the agenda `schedule`. */
  promote: 'promote',
} as const;

/** A lane that is due and whose hint was lost is woken after so long. */
export const RECONCILE_MS = 5_000;

/** Who is told what sends have due. */
export interface RelayHints {
  relay: Pick<AgendaHints, 'tell'>;
  schedule: Pick<AgendaHints, 'tell'>;
}

/** {@link RelayJobs} that also see to it that a hint that is lost, or whose worker dies, is made good. */
export class ReconciledRelayJobs implements RelayJobs {
  constructor(
    private readonly jobs: RelayJobs,
    private readonly hints: Pick<AgendaHints, 'tell'>,
  ) {}

  async wake(account: string, lanes: readonly string[], delayMs = 0): Promise<void> {
    if (lanes.length > 0) this.hints.tell(account, RELAY_ROUND.reconcile, delayMs + RECONCILE_MS);
    await this.jobs.wake(account, lanes, delayMs);
  }
}
