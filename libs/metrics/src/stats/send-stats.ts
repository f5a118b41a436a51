import { observeMethodCalls } from '#platform';
import type { RelayStore, SendRecord, SendStatus } from '#relay';
import type { CountName } from './minute-counts.js';
import type { StatsCounter } from './stats-recorder.js';

const COUNTED: Readonly<Partial<Record<SendStatus, CountName>>> = {
  accepted: 'sendsAccepted',
  sent: 'sendsSent',
  failed: 'sendsFailed',
  unknown: 'sendsUnknown',
  expired: 'sendsExpired',
};

/** Counts the new status of a send. Counts nothing if the status is unchanged, or not in {@link COUNTED}. */
export function countSendStatusChange(
  stats: StatsCounter,
  account: string,
  { state: before }: SendRecord,
  { state: after }: SendRecord,
): void {
  const name = after.status === before.status ? undefined : COUNTED[after.status];
  if (name !== undefined) stats.add(account, name);
}

/** Wraps a gateway's store in an object that counts new sends, and the status changes that callers request. */
export function wrapStoreToCountSends<T extends RelayStore>(store: T, stats: StatsCounter): T {
  return observeMethodCalls<RelayStore>(store, {
    insert: ({ parameters: [account], outcome }) => {
      if ('result' in outcome && outcome.result.kind === 'new') stats.add(account, 'sendsCreated');
    },
    apply: ({ parameters: [account, before], outcome }) => {
      if ('result' in outcome && outcome.result !== undefined)
        countSendStatusChange(stats, account, before, outcome.result);
    },
  }) as T;
}
