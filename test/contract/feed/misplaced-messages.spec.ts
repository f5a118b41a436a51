import { describe, expect, it } from '@jest/globals';
import type { ContactPoller } from '#feed';
import { ACCOUNT } from './feed-harness.js';
import { DAY_MS, NUMBER, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

/**
 * Creates 75 messages from three days ago. Three of them arrive before `places` older messages. Returns the ids of
 * these three.
 */
function createMisplacedMessages(contactId: string, places: number): string[] {
  const start = Date.now() - 3 * DAY_MS;
  const seconds = Array.from({ length: 75 }, (_, i) => i);
  const early = [20, 50, 70];
  for (const from of early) seconds.splice(from - places, 0, ...seconds.splice(from, 1));
  const ids = seconds.map((second) => [
    ...here.harness.createMessages(contactId, { timestamp: start + second * 1_000 }),
  ]);
  return early.flatMap((second) => ids[second - places] ?? []);
}

/** Returns the number of pages that `act` reads. */
async function pagesReadDuring(act: () => Promise<unknown>): Promise<number> {
  const before = here.harness.countRequests(/messages/);
  await act();
  return here.harness.countRequests(/messages/) - before;
}

describe.each(['newestFirst', 'oldestFirst'] as const)(
  'if upstream sorts messages by arrival (%s), and a few messages did not arrive in the order of their timestamps,',
  (order) => {
    it('a poll reads one page, and emits an event for every new message, even if the messages do not arrive in the order of their timestamps', async () => {
      const { harness } = here;
      harness.control('settings', { order, sortBy: 'arrival' });
      const contactId = harness.createContact(NUMBER);
      createMisplacedMessages(contactId, 3);
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.order).toBe(order);

      const poll = (): Promise<unknown> => harness.polls.poll(ACCOUNT, contactId);
      expect(await pagesReadDuring(poll)).toBe(1);
      const now = Date.now();
      const ids: string[] = [];
      for (const timestamp of [now - 3_000, now - 5_000, now]) {
        ids.push(...harness.createMessages(contactId, { timestamp }));
        expect(await pagesReadDuring(poll)).toBe(1);
        expect(await here.messageEvents()).toEqual(received(ids));
      }
    });

    it('a read of all pages after the deletion of these messages records that the contact has no misplaced messages', async () => {
      const { harness } = here;
      harness.control('settings', { order, sortBy: 'arrival' });
      const contactId = harness.createContact(NUMBER);
      const hasMisplacedMessages = async (): Promise<boolean | undefined> =>
        (await harness.store.contactState(ACCOUNT, contactId))?.extension.hasMisplacedMessages;
      const early = createMisplacedMessages(contactId, 3);
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      expect(await hasMisplacedMessages()).toBe(true);
      harness.createMessages(contactId);
      await harness.polls.poll(ACCOUNT, contactId);
      expect(await hasMisplacedMessages()).toBe(true);
      harness.control('messages/delete', { ids: early });
      await here.readAll(contactId);
      expect(await hasMisplacedMessages()).toBeUndefined();
    });

    it('a look-up for the messages of sends reads all pages', async () => {
      const { harness } = here;
      harness.control('settings', { order, sortBy: 'arrival', limitCap: 20 });
      const contactId = harness.createContact(NUMBER);
      createMisplacedMessages(contactId, 3);
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      const found: string[] = [];
      const lookup: Parameters<ContactPoller['pollNewMessages']>[3] = {
        contactIds: [contactId],
        messagesRead: 0,
        add: (_, messages) => found.push(...messages.map(({ id }) => id)),
      };
      const pages = await pagesReadDuring(() =>
        harness.polls.pollNewMessages(ACCOUNT, contactId, 'poll', lookup),
      );
      expect(pages).toBeGreaterThanOrEqual(4);
      expect(new Set(found).size).toBe(75);
      expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.order).toBe(order);
    });

    it('a poll reads all pages if messages are misplaced by more than five positions', async () => {
      const { harness } = here;
      harness.control('settings', { order, sortBy: 'arrival', limitCap: 20 });
      const contactId = harness.createContact(NUMBER);
      createMisplacedMessages(contactId, 6);
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.order).toBe('unsorted');
      const ids = harness.createMessages(contactId);
      expect(await pagesReadDuring(() => harness.polls.poll(ACCOUNT, contactId))).toBeGreaterThanOrEqual(4);
      expect(await here.messageEvents()).toEqual(received(ids));
    });
  },
);
