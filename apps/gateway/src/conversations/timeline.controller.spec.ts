import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { Principal } from '#accounts';
import type { Timeline } from '#conversations';
import type { Send } from '#relay';
import { ContactAccess } from '../auth/contact-access.js';
import type { ConversationReads } from './conversation-reads.js';
import { TimelineController } from './timeline.controller.js';
import { TimelineQuery } from './timeline.dto.js';

it('equal timeline requests at the same time share one read, unless they belong to different accounts', async () => {
  const conversation = { id: '1', contactId: '1', phoneNumbers: [], lastMessage: undefined };
  const reads = { find: () => Promise.resolve(conversation) } as unknown as ConversationReads;
  const read: string[] = [];
  const timeline = {
    read: async (account: string) => {
      read.push(account);
      // By then, every request has begun.
      await setImmediate();
      return { entries: [], next: undefined, after: account, isPartial: false };
    },
  } as unknown as Timeline<Send>;
  const access = new ContactAccess({ recipientOf: () => Promise.reject(new Error('not used')) });
  const controller = new TimelineController(reads, access, timeline);
  const callerOf = (account: string): Principal => ({ keyId: 'k', account, scopes: new Set() });
  const replies = await Promise.all(
    ['a', 'b', 'a'].map((account) => controller.get(callerOf(account), '1', new TimelineQuery())),
  );
  expect(replies.map(({ after }) => after)).toEqual(['a', 'b', 'a']);
  expect(read).toEqual(['a', 'b']);
});
