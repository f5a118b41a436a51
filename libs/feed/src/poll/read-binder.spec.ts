import { expect, it } from '@jest/globals';
import { compareMessages } from '../diff/compared-message.js';
import type { SendBinder } from '../ports.js';
import { parseMessage } from '#upstream';
import type { PagesRead } from '../walk/pages-read.js';
import type { PollStart } from './poll-start.js';
import { ReadBinder } from './read-binder.js';

it('sends whose messages are not committed yet are stored separately for each account, even if two accounts have contacts with the same id', async () => {
  const binder: SendBinder = {
    bind: ({ account }) => Promise.resolve(new Map(account === 'a' ? [['m1', { sendId: 'snd_1' }]] : [])),
    sendsOf: () => Promise.reject(new Error('not used')),
  };
  const reads = new ReadBinder(binder);
  const message = parseMessage({ id: 'm1', direction: 'outbound', message: 'Hi' });
  const compared = compareMessages(message === undefined ? [] : [message], new Map());
  const startOf = (account: string): PollStart =>
    ({ account, contactId: '1', state: { now: 1 } }) as PollStart;
  const bind = async (account: string): Promise<[string, string][]> => {
    const { sends } = await reads.bind(startOf(account), { upstreamAheadMs: 0 } as PagesRead, compared);
    return [...sends].map(([id, { sendId }]) => [id, sendId]);
  };
  expect(await bind('a')).toEqual([['m1', 'snd_1']]);
  expect(await bind('b')).toEqual([]);
  expect([reads.hasUncommittedSends(startOf('a')), reads.hasUncommittedSends(startOf('b'))]).toEqual([
    true,
    false,
  ]);
});
