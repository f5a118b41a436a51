import type { BlobStore } from '#blobs';
import type { Lookup, RelayJobs } from '../ports.js';
import type { RelaySettings } from '../send/relay-settings.js';
import type { RelayStore } from '../send/relay-store.js';
import { SendConfirm } from './send-confirm.js';
import { expiryChange, expiryOf } from '../send/send-end.js';
import type { SendRecord } from '../send/send-record.js';

/** How much one round takes up; the next one takes the rest. */
const MAX_PER_ROUND = 500;
/** So many scheduled sends are moved in one step, few at first: those are not to wait for the last. */
const MIN_PROMOTED = 10;
const MAX_PROMOTED = 100;
/** Retention takes small bites; so many of them a round. */
const MAX_TRIM_BATCHES = 200;
/** Recipients whose sightings are asked for at once, and for how long a round begins with further ones. */
const MAX_PARALLEL_CONFIRMS = 10;
const MAX_CONFIRM_ROUND_MS = 3_000;

/** What must be seen to again and again: lost hints, scheduled sends, ends, sightings that did not come, old sends. */
export class RelayRounds {
  private readonly confirms: SendConfirm;

  constructor(
    private readonly store: RelayStore,
    lookup: Lookup,
    private readonly blobs: BlobStore,
    private readonly jobs: RelayJobs,
    private readonly settings: RelaySettings,
  ) {
    this.confirms = new SendConfirm(store, lookup, settings);
  }

  /** Wakes every lane that is due: a crash may have kept its hint from being added. */
  async reconcile(account: string): Promise<void> {
    const lanes = await this.store.dueLanes(account, MAX_PER_ROUND);
    await this.jobs.wake(account, lanes);
  }

  /** Moves scheduled sends whose time has come into their lanes; in how many milliseconds the next one is due. */
  async promote(account: string): Promise<number | undefined> {
    for (let most = MIN_PROMOTED; ; most = Math.min(2 * most, MAX_PROMOTED)) {
      const lanes = await this.store.promote(account, most);
      await this.jobs.wake(account, [...new Set(lanes)]);
      if (lanes.length < most) return this.store.nextScheduled(account);
    }
  }

  /** Ends the queued sends whose end has come, also those that wait behind others of their lanes. */
  async expire(account: string): Promise<void> {
    const { maxAgeMs } = this.settings;
    for (const { record, now } of await this.store.ending(account, maxAgeMs, MAX_PER_ROUND)) {
      const end = expiryOf(record, maxAgeMs);
      // One that changed meanwhile is met again.
      if (now >= end.at) await this.store.apply(account, record, expiryChange(record, end.reason));
    }
  }

  /** Asks again for the sighting of sends that upstream took; tells of those that were not seen in time. */
  async confirm(account: string): Promise<void> {
    const due = await this.store.dueConfirms(account, MAX_PER_ROUND);
    const byRecipient = [...grouped(due)];
    const end = performance.now() + MAX_CONFIRM_ROUND_MS;
    for (let i = 0; i < byRecipient.length && performance.now() < end; i += MAX_PARALLEL_CONFIRMS) {
      const some = byRecipient.slice(i, i + MAX_PARALLEL_CONFIRMS);
      await Promise.all(some.map(([number, records]) => this.confirms.confirm(account, number, records)));
    }
  }

  /** Removes what retention lets go, with its files. */
  async trim(account: string, retention: { maxAgeMs: number; maxCount: number }): Promise<void> {
    for (let batches = 0; batches < MAX_TRIM_BATCHES; batches += 1) {
      const removed = await this.store.trim(account, retention);
      for (const { file } of removed) if (file !== undefined) await this.blobs.remove(file.blobId);
      if (removed.length === 0) return;
    }
  }
}

function grouped(sends: readonly SendRecord[]): Map<string, SendRecord[]> {
  const groups = new Map<string, SendRecord[]>();
  for (const send of sends) {
    const { phoneNumber } = send.order;
    groups.set(phoneNumber, [...(groups.get(phoneNumber) ?? []), send]);
  }
  return groups;
}
