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

/** Counts the status that a send has reached, if it is another one than before. */
export function countSendStatus(
  stats: StatsCounter,
  account: string,
  { state: before }: SendRecord,
  { state: after }: SendRecord,
): void {
  const name = after.status === before.status ? undefined : COUNTED[after.status];
  if (name !== undefined) stats.add(account, name);
}

/** Wraps the store of a gateway in an object that counts the sends that callers create and resolve. */
export function countSends<T extends RelayStore>(store: T, stats: StatsCounter): T {
  return observeMethodCalls<RelayStore>(store, {
    insert: ({ parameters: [account], outcome }) => {
      if ('result' in outcome && outcome.result.kind === 'new') stats.add(account, 'sendsCreated');
    },
    apply: ({ parameters: [account, before], outcome }) => {
      if ('result' in outcome && outcome.result !== undefined)
        countSendStatus(stats, account, before, outcome.result);
    },
  }) as T;
}
