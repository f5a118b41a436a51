import { expect, it } from '@jest/globals';
import type { Principal } from '#accounts';
import type { Conversation, Conversations } from '#conversations';
import type { KnownMessage } from '#feed';
import { ConversationReads } from './conversation-reads.js';

const MINUTE_MS = 60_000;
const caller: Principal = { keyId: 'key_1', account: 'default', scopes: new Set(['messages:read']) };

/** Marks messages as seen up to the message `upTo`, which the row does not contain. Returns those that are then seen. */
async function seenAfter(timestamps: Record<string, number | undefined>): Promise<readonly string[]> {
  const unread = Object.keys(timestamps).filter((id) => id !== 'upTo');
  let seen: readonly string[] = [];
  const conversations: Pick<Conversations, 'read' | 'markSeen' | 'unreadMessages' | 'markEachSeen'> = {
    read: () => Promise.resolve([{ id: 'c1', contactId: 'c1' } as Conversation]),
    markSeen: () => Promise.resolve(false),
    unreadMessages: () => Promise.resolve(unread),
    markEachSeen: (_account, _id, messageIds) => Promise.resolve(void (seen = messageIds)),
  };
  const known = Object.entries(timestamps).map(([id, timestamp]): [string, KnownMessage] => [
    id,
    { deleted: false, ...(timestamp === undefined ? {} : { timestamp }) } as KnownMessage,
  ]);
  const reads = new ConversationReads(
    conversations as Conversations,
    {
      knownMessages: () => Promise.resolve(new Map(known)),
      contactTexts: () => Promise.reject(new Error('not used')),
    },
    { end: () => Promise.reject(new Error('not used')) },
    {
      find: () => Promise.resolve({ polling: true } as never),
    },
    { CONVERSATIONS: 'on' },
  );
  await reads.markSeen(caller, 'c1', 'upTo');
  return seen;
}

it('marking messages as seen up to a message that is not in the row compares only timestamps of upstream, whatever the clock difference is', async () => {
  for (const aheadMs of [0, 3_600_000, -3_600_000]) {
    const base = Date.now() + aheadMs;
    const seen = await seenAfter({ before: base - MINUTE_MS, upTo: base, after: base + MINUTE_MS });
    expect(seen).toEqual(['before']);
  }
});

it('marking messages as seen up to a message that is not in the row leaves every message unread that may be newer than that message', async () => {
  const base = Date.now();
  expect(await seenAfter({ sameMinute: base, upTo: base, undated: undefined })).toEqual([]);
  expect(await seenAfter({ dated: base, upTo: undefined })).toEqual([]);
});
