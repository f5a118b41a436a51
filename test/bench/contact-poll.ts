import { MIN_ABSENCE_UNTIL_DELETED_MS, ContactPoller, type FeedSource, type FeedStore } from '#feed';
import { createLogger } from '#platform';

/** Returns a contact poll with the product's default settings, for contacts without sends. */
export function contactPollOf(store: FeedStore, source: FeedSource): ContactPoller {
  return new ContactPoller(
    store,
    source,
    { bind: () => Promise.resolve(new Map()), sendsOf: () => Promise.resolve(new Map()) },
    { lastRecordedForm: () => Promise.resolve(undefined) },
    {
      interval: { min: 2_000, max: 300_000 },
      readsPerSecond: () => Promise.resolve(10),
      undated: 'silent',
      settleMs: 72 * 3_600_000,
      sweepMs: 86_400_000,
      absenceMs: MIN_ABSENCE_UNTIL_DELETED_MS,
    },
    createLogger('bench', 'silent'),
  );
}
