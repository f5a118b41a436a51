import type { BackgroundTaskScheduler } from '#platform';
import type { PollAgenda } from '../ports.js';

/** Names of the rounds that a worker with the role `poll` runs. */
export const POLL_TASK_NAMES = {
  /** Polls the contacts that are due. */
  due: 'due',
  /** Reads the contact list. */
  contacts: 'contacts',
  /** Probes whether an upstream outage has ended. */
  probe: 'probe',
} as const;

/**
 * Implements {@link PollAgenda}: announces due polls to the agenda (the due times in Redis) without making the
 * caller wait.
 */
export class DuePollAnnouncer implements PollAgenda {
  constructor(private readonly scheduler: Pick<BackgroundTaskScheduler, 'announce'>) {}

  announceDue(account: string, dueAtMs: number): void {
    this.scheduler.announce(account, POLL_TASK_NAMES.due, { atMs: dueAtMs });
  }
}
