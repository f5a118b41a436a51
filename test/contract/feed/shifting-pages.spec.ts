import { describe, expect, it } from '@jest/globals';
import { ACCOUNT } from './feed-harness.js';
import { received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

describe.each(['newestFirst', 'oldestFirst', 'random'] as const)(
  'if upstream lists messages in the order %s,',
  (order) => {
    it('a message that arrives between the reads of page 1 and page 2 causes one event', async () => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(15);
      const ids = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
      await harness
        .poller(here.afterPage(1, () => ids.push(...harness.createMessages(contactId))))
        .poll(ACCOUNT, contactId);
      if (ids.length === 30) ids.push(...harness.createMessages(contactId));
      await harness.sweepUntil(
        'all messages are emitted',
        async () => (await here.messageEvents()).length >= ids.length,
      );
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    });

    it('no other message is missed if a message is deleted between the reads of two pages', async () => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(25);
      const ids = harness.createMessages(contactId, { count: 45, intervalMs: 10 });
      const act = (): unknown => harness.control('messages/delete', { id: ids.at(-1) });
      const page = order === 'oldestFirst' ? 2 : 1;
      await harness.poller(here.afterPage(page, act)).poll(ACCOUNT, contactId);
      await harness.sweepUntil(
        'all messages are emitted',
        async () => (await here.messageEvents()).length >= 44,
      );
      await harness.sweep();
      expect((await here.messageEvents()).filter((line) => !line.endsWith(` ${String(ids.at(-1))}`))).toEqual(
        received(ids.slice(0, -1)),
      );
    });

    it('every message of a burst larger than a page causes one event; the events are sorted by timestamp unless upstream’s order is random', async () => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(20);
      const ids = harness.createMessages(contactId, { count: 70, intervalMs: 10 });
      await harness.sweepUntil(
        'all messages are emitted',
        async () => (await here.messageEvents()).length >= 70,
      );
      expect(await here.messageEvents()).toEqual(received(ids));
      if (order === 'random') return;
      const inTime = (await harness.deliveredEvents()).map(
        ({ data }) => (data['message'] as { id: string }).id,
      );
      expect(inTime).toEqual(ids);
    });

    it('a new message with an old timestamp causes an event at the next read of all pages', async () => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId, ids } = await here.createKnownContact(75);
      expect(ids).toHaveLength(75);
      const timestamp = Date.now() - 3 * 86_400_000 + 37_500;
      const [late] = harness.createMessages(contactId, { text: 'late', timestamp });
      await here.readAll(contactId);
      expect(await here.messageEvents()).toEqual(received([late ?? '']));
    });

    it('each of several messages with equal timestamps causes one event, even if a poll runs between their arrivals', async () => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(25);
      const timestamp = Date.now();
      const ids: string[] = [];
      for (const count of [2, 3, 1]) {
        ids.push(...harness.createMessages(contactId, { count, timestamp }));
        await harness.sweepUntil(
          'all messages are emitted',
          async () => (await here.messageEvents()).length >= ids.length,
        );
      }
      expect(await here.messageEvents()).toEqual(received(ids));
    });
  },
);

it('new messages in an oldest-first list cause events even if the same number of old messages is deleted', async () => {
  const { harness } = here;
  harness.control('settings', { order: 'oldestFirst' });
  const { contactId, ids } = await here.createKnownContact(41);
  harness.control('messages/delete', { ids: ids.slice(0, 2) });
  const fresh = harness.createMessages(contactId, { count: 2, intervalMs: 10 });
  await harness.sweep();
  expect(await here.messageEvents()).toEqual(received(fresh));
});

it('a message that appears on two pages causes one message.sent, and a flag that is set only on the second page causes one message.delivered', async () => {
  const { harness } = here;
  const { contactId } = await here.createKnownContact(5);
  const ids = harness.createMessages(contactId, { direction: 'outbound', count: 25, intervalMs: 10 });
  const id = ids[5] ?? '';
  const source = here.afterPage(1, () => {
    harness.control('messages/flags', { id, delivered: true });
    ids.push(...harness.createMessages(contactId, { direction: 'outbound' }));
  });
  await harness.poller(source).poll(ACCOUNT, contactId);
  await harness.sweep();
  const sent = ids.map((one) => `message.sent ${one}`);
  expect(await here.messageEvents()).toEqual([...sent, `message.delivered ${id}`].sort());
});

it.each(['newestFirst', 'oldestFirst'] as const)(
  'an empty page in the middle of the list does not end the read (order of messages: %s)',
  async (order) => {
    const { harness } = here;
    harness.control('settings', { order });
    const { contactId } = await here.createKnownContact(20);
    const ids = harness.createMessages(contactId, { count: 60, intervalMs: 10 });
    harness.control('faults', {
      match: { path: 'page=3' },
      fault: { kind: 'errorBody200', body: { messages: [] } },
      times: 'always',
    });
    await harness.sweep();
    const behind = order === 'newestFirst' ? ids.slice(20) : ids.slice(40);
    expect(await here.messageEvents()).toEqual(expect.arrayContaining(received(behind)));
    harness.control('faults/clear');
    await here.readAll(contactId);
    expect(await here.messageEvents()).toEqual(received(ids));
  },
);

describe.each(['newestFirst', 'oldestFirst'] as const)(
  'an unchanged contact (order of messages: %s)',
  (order) => {
    it.each([1, 19, 20, 21, 40, 75])(
      'with %d messages needs one request per poll once the order of the messages is known',
      async (count) => {
        const { harness } = here;
        harness.control('settings', { order });
        const { contactId } = await here.createKnownContact(count);
        const before = harness.countRequests(/messages/);
        for (let poll = 0; poll < 3; poll += 1) await harness.polls.poll(ACCOUNT, contactId);
        expect(harness.countRequests(/messages/) - before).toBe(3);
        const ids = harness.createMessages(contactId, { count: 2, intervalMs: 10 });
        await harness.polls.poll(ACCOUNT, contactId);
        expect(await here.messageEvents()).toEqual(received(ids));
      },
    );
  },
);

describe('a read of all pages during which another worker commits the newest messages', () => {
  it('emits no event twice, and misses no later change of a message', async () => {
    const { harness } = here;
    harness.control('settings', { limitCap: 20 });
    const { contactId } = await here.createKnownContact(25);
    const ids = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
    const edit = async (text: string): Promise<void> => {
      harness.control('messages/edit', { id: ids.at(-1), text });
      await harness.polls.pollHead(ACCOUNT, contactId);
    };
    const stop = new AbortController();
    const source = here.afterPage(2, async () => {
      await harness.polls.pollHead(ACCOUNT, contactId);
      await edit('once');
      stop.abort();
    });
    await harness
      .poller(source, 'silent', { sweepMs: 0 })
      .runDeepRead(ACCOUNT, contactId, 'poll', stop.signal);
    await edit('twice');
    const updated = `message.updated ${String(ids.at(-1))}`;
    expect(await here.messageEvents()).toEqual([...received(ids), updated, updated].sort());
  });

  it('takes no new baseline, even if all older messages are deleted during the read', async () => {
    const { harness } = here;
    harness.control('settings', { limitCap: 20 });
    const { contactId, ids: before } = await here.createKnownContact(15);
    const ids = harness.createMessages(contactId, { count: 20, intervalMs: 10 });
    const source = here.afterPage(2, async () => {
      await harness.polls.pollHead(ACCOUNT, contactId);
      harness.control('messages/delete', { ids: before });
    });
    await harness.poller(source, 'silent', { sweepMs: 0 }).runDeepRead(ACCOUNT, contactId, 'poll');
    expect(await here.messageEvents()).toEqual(received(ids));
    expect(await harness.eventTypes()).not.toContain('contact.resynced');
  });
});
