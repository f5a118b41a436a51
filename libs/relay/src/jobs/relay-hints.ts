import type { AgendaHints } from '#platform';
import type { RelayJobs } from '../ports.js';

/** Names of the periodic rounds of the relay. */
export const RELAY_ROUND = {
  /** Wakes due lanes whose hints were lost. */
  reconcile: 'reconcile',
  /** Checks for the messages of accepted sends. */
  confirm: 'confirm',
  /** Ends queued sends that have expired. */
  expire: 'expire',
  /** Probes an outage. */
  probe: 'probe',
  /** Removes sends that are past retention. */
  trim: 'trim',
  /** Removes files that no send needs. */
  sweepFiles: 'sweepFiles',
  /** Moves due scheduled sends to their lanes; runs on the agenda `schedule`. */
  promote: 'promote',
} as const;

/** Time after which a due lane whose hint was lost is woken, in milliseconds. */
export const RECONCILE_MS = 5_000;

/** The agendas to which due work of sends is announced. */
export interface RelayHints {
  relay: Pick<AgendaHints, 'announce'>;
  schedule: Pick<AgendaHints, 'announce'>;
}

/** {@link RelayJobs} that also schedules a reconcile round, which replaces a lost hint or a dead worker. */
export class ReconciledRelayJobs implements RelayJobs {
  constructor(
    private readonly jobs: RelayJobs,
    private readonly hints: Pick<AgendaHints, 'announce'>,
  ) {}

  async wake(account: string, lanes: readonly string[], delayMs = 0): Promise<void> {
    if (lanes.length > 0) this.hints.announce(account, RELAY_ROUND.reconcile, delayMs + RECONCILE_MS);
    await this.jobs.wake(account, lanes, delayMs);
  }
}
