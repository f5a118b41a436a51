import type { BackgroundTaskScheduler } from '#platform';
import type { RelayJobs } from '../ports.js';

/** Names of the relay's periodic tasks. Each run of a task works for one account. */
export const RELAY_TASK_NAMES = {
  /** Wakes lanes (recipients' queues of sends) that are due, in case their wake-up jobs were lost. */
  reconcile: 'reconcile',
  /** Checks whether the messages of accepted sends have appeared at upstream. */
  confirm: 'confirm',
  /** Ends queued sends whose `expiresAt` or maximum age has passed. */
  expire: 'expire',
  /** Tests during an outage of upstream whether the outage is over. */
  probe: 'probe',
  /** Removes stored sends that exceed the retention limits: first finished sends, then accepted and unknown sends. */
  trim: 'trim',
  /** Removes uploaded files that no send needs. */
  sweepFiles: 'sweepFiles',
  /** Moves due scheduled sends to their recipients' lanes. */
  promote: 'promote',
} as const;

/** Time in milliseconds after which a woken lane is checked again, because its wake-up job may have been lost. */
export const LOST_JOB_CHECK_DELAY_MS = 5_000;

/**
 * Schedulers that are notified when an account has work: `schedule` for the task `promote`, `relay` for all other
 * tasks.
 */
export interface RelaySchedulers {
  relay: Pick<BackgroundTaskScheduler, 'announce'>;
  schedule: Pick<BackgroundTaskScheduler, 'announce'>;
}

/**
 * Wakes workers for lanes, and schedules a reconcile task that runs a little later. The task wakes the lanes that are
 * still due, for example because the wake-up job was lost, or because the worker that ran the job died.
 */
export class RelayJobsWithReconciliation implements RelayJobs {
  constructor(
    private readonly jobs: RelayJobs,
    private readonly scheduler: Pick<BackgroundTaskScheduler, 'announce'>,
  ) {}

  async wake(account: string, lanes: readonly string[], delayMs = 0): Promise<void> {
    if (lanes.length > 0)
      this.scheduler.announce(account, RELAY_TASK_NAMES.reconcile, delayMs + LOST_JOB_CHECK_DELAY_MS);
    await this.jobs.wake(account, lanes, delayMs);
  }
}
