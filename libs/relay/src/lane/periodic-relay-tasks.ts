import type { BlobStore } from '#blobs';
import { withDeadline } from '#platform';
import type { Lookup, RelayJobs } from '../ports.js';
import type { RelaySettings } from '../send/relay-settings.js';
import type { RelayStore } from '../send/relay-store.js';
import { AcceptedSendConfirmer } from './accepted-send-confirmer.js';
import { stateChangeOfExpiredSend, sendExpiryOf } from '../send/send-expiry.js';
import type { SendRecord } from '../send/send-record.js';

/**
 * Maximum number of lanes that one run of `reconcile` handles, and of sends that one run of `confirm` handles. One
 * run of `expire` handles at most this number of sends whose `expiresAt` has passed, and as many of the sends that
 * have reached their maximum age. The next run handles the rest.
 */
const MAX_PER_ROUND = 500;
/**
 * Size of the first batch when scheduled sends are moved to their lanes. It is small, so that the first sends start
 * early.
 */
const MIN_PROMOTED = 10;
/**
 * Maximum size of a batch when scheduled sends are moved to their lanes. Each batch is twice as large as the batch
 * before, up to this size.
 */
const MAX_PROMOTED = 100;
/** Maximum duration of the removal of a send's file, in milliseconds. */
const MAX_FILE_REMOVAL_MS = 30_000;
/** Maximum number of batches of old sends that one run of `trim` removes. */
const MAX_TRIM_BATCHES = 200;

/**
 * The relay's periodic tasks. They wake lanes (recipients' queues of sends), queue scheduled sends that are due, end
 * expired sends, check whether the messages of accepted sends have appeared, and remove old sends.
 */
export class PeriodicRelayTasks {
  private readonly confirmations: AcceptedSendConfirmer;

  constructor(
    private readonly store: RelayStore,
    lookup: Lookup,
    private readonly blobs: BlobStore,
    private readonly jobs: RelayJobs,
    private readonly settings: RelaySettings,
  ) {
    this.confirmations = new AcceptedSendConfirmer(store, lookup, settings);
  }

  /**
   * Wakes the lanes that have been due longest, because a crash may have lost their wake-up jobs. Returns false if
   * further lanes may be due.
   */
  async reconcile(account: string): Promise<boolean> {
    const lanes = await this.store.dueLanes(account, MAX_PER_ROUND);
    await this.jobs.wake(account, lanes);
    return lanes.length < MAX_PER_ROUND;
  }

  /**
   * Moves due scheduled sends to their recipients' lanes, and wakes these lanes. Returns the time until the next
   * scheduled send is due, in milliseconds, or undefined if no send is scheduled.
   */
  async promote(account: string): Promise<number | undefined> {
    for (let batchSize = MIN_PROMOTED; ; batchSize = Math.min(2 * batchSize, MAX_PROMOTED)) {
      const lanes = await this.store.promoteScheduled(account, batchSize);
      await this.jobs.wake(account, [...new Set(lanes)]);
      if (lanes.length < batchSize) return this.store.nextScheduledInMs(account);
    }
  }

  /**
   * Ends queued sends that have expired, wherever they are in their lanes. Sends that must be looked up first,
   * because Redis restarted, expire later, when they are the first in their lanes.
   */
  async expire(account: string): Promise<void> {
    const { maxAgeMs } = this.settings;
    for (const { record, now } of await this.store.expirableSends(account, maxAgeMs, MAX_PER_ROUND)) {
      const expiry = sendExpiryOf(record, maxAgeMs);
      // If the send changed after it was read, `apply` writes nothing, and the next run reads the send again.
      if (now >= expiry.at)
        await this.store.apply(account, record, stateChangeOfExpiredSend(record, expiry.reason));
    }
  }

  /**
   * Checks whether the messages of accepted sends have appeared. Emits an event for a send whose message did not
   * appear in time.
   */
  async confirm(account: string): Promise<void> {
    const due = await this.store.dueConfirmations(account, MAX_PER_ROUND);
    if (due.length > 0) await this.confirmations.confirm(account, groupByRecipient(due));
  }

  /**
   * Removes sends that exceed the retention limits, together with their files.
   * @throws {Error} if the removal of a file fails; the sends are removed nevertheless
   */
  async trim(account: string, retention: { maxAgeMs: number; maxCount: number }): Promise<void> {
    let failure: { cause: unknown } | undefined;
    for (let batches = 0; batches < MAX_TRIM_BATCHES; batches += 1) {
      const removed = await this.store.trim(account, retention);
      for (const { file } of removed) {
        // If the removal of a file fails, this run removes no further files. A blob store that hangs must not delay
        // the removal of sends, because the removal of sends frees memory in Redis. The clean-up of unused files
        // removes the remaining files later.
        if (file === undefined || failure !== undefined) continue;
        try {
          await withDeadline(this.blobs.remove(file.blobId), MAX_FILE_REMOVAL_MS, 'the removal of a file');
        } catch (cause) {
          failure = { cause };
        }
      }
      if (removed.length === 0) break;
    }
    if (failure !== undefined) throw new Error('could not remove the file of a removed send', failure);
  }
}

function groupByRecipient(sends: readonly SendRecord[]): Map<string, SendRecord[]> {
  const groups = new Map<string, SendRecord[]>();
  for (const send of sends) {
    const { phoneNumber } = send.order;
    groups.set(phoneNumber, [...(groups.get(phoneNumber) ?? []), send]);
  }
  return groups;
}
