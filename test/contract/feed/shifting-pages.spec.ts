import { describe, expect, it } from '@jest/globals';
import { A } from './house.js';
import { received, WithHouse } from './with-house.js';

const here = new WithHouse();

describe.each(['newestFirst', 'oldestFirst', 'random'] as const)('with messages in order %s,', (order) => {
  it('a message that arrives between the reads of page 1 and page 2 is emitted once', async () => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId } = await here.createKnownContact(15);
    const ids = house.messages(contactId, { count: 30, intervalMs: 10 });
    await house.poller(here.afterPage(1, () => ids.push(...house.messages(contactId)))).poll(A, contactId);
    if (ids.length === 30) ids.push(...house.messages(contactId));
    await house.sweepUntil(
      'all messages are emitted',
      async () => (await here.messageEvents()).length >= ids.length,
    );
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('a message that is deleted between two pages hides no other message', async () => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId } = await here.createKnownContact(25);
    const ids = house.messages(contactId, { count: 45, intervalMs: 10 });
    const act = (): unknown => house.control('messages/delete', { id: ids.at(-1) });
    const page = order === 'oldestFirst' ? 2 : 1;
    await house.poller(here.afterPage(page, act)).poll(A, contactId);
    await house.sweepUntil('all messages are emitted', async () => (await here.messageEvents()).length >= 44);
    await house.sweep();
    expect((await here.messageEvents()).filter((line) => !line.endsWith(` ${String(ids.at(-1))}`))).toEqual(
      received(ids.slice(0, -1)),
    );
  });

  it('a burst larger than a page is emitted completely, in the order of timestamps', async () => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId } = await here.createKnownContact(20);
    const ids = house.messages(contactId, { count: 70, intervalMs: 10 });
    await house.sweepUntil('all messages are emitted', async () => (await here.messageEvents()).length >= 70);
    expect(await here.messageEvents()).toEqual(received(ids));
    if (order === 'random') return;
    const inTime = (await house.told()).map(({ data }) => (data['message'] as { id: string }).id);
    expect(inTime).toEqual(ids);
  });

  it('a late message with an old timestamp is emitted at the next read of all pages', async () => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId, ids } = await here.createKnownContact(75);
    expect(ids).toHaveLength(75);
    const timestamp = Date.now() - 3 * 86_400_000 + 37_500;
    const [late] = house.messages(contactId, { text: 'late', timestamp });
    await here.readAll(contactId);
    expect(await here.messageEvents()).toEqual(received([late ?? '']));
  });

  it('messages with equal timestamps are all emitted, whether they arrive before or after a poll', async () => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId } = await here.createKnownContact(25);
    const timestamp = Date.now();
    const ids: string[] = [];
    for (const count of [2, 3, 1]) {
      ids.push(...house.messages(contactId, { count, timestamp }));
      await house.sweepUntil(
        'all messages are emitted',
        async () => (await here.messageEvents()).length >= ids.length,
      );
    }
    expect(await here.messageEvents()).toEqual(received(ids));
  });
});

it('in an oldest-first list, new messages are emitted even if as many old ones vanish', async () => {
  const { house } = here;
  house.control('settings', { order: 'oldestFirst' });
  const { contactId, ids } = await here.createKnownContact(41);
  house.control('messages/delete', { ids: ids.slice(0, 2) });
  const fresh = house.messages(contactId, { count: 2, intervalMs: 10 });
  await house.sweep();
  expect(await here.messageEvents()).toEqual(received(fresh));
});

it('a message served on two pages with different flags is emitted once, with the later flags', async () => {
  const { house } = here;
  const { contactId } = await here.createKnownContact(5);
  const ids = house.messages(contactId, { direction: 'outbound', count: 25, intervalMs: 10 });
  const id = ids[5] ?? '';
  const source = here.afterPage(1, () => {
    house.control('messages/flags', { id, delivered: true });
    ids.push(...house.messages(contactId, { direction: 'outbound' }));
  });
  await house.poller(source).poll(A, contactId);
  await house.sweep();
  const sent = ids.map((one) => `message.sent ${one}`);
  expect(await here.messageEvents()).toEqual([...sent, `message.delivered ${id}`].sort());
});

it.each(['newestFirst', 'oldestFirst'] as const)(
  'an empty page in the middle of the list does not end the read: %s',
  async (order) => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId } = await here.createKnownContact(20);
    const ids = house.messages(contactId, { count: 60, intervalMs: 10 });
    house.control('faults', {
      match: { path: 'page=3' },
      fault: { kind: 'errorBody200', body: { messages: [] } },
      times: 'always',
    });
    await house.sweep();
    const behind = order === 'newestFirst' ? ids.slice(20) : ids.slice(40);
    expect(await here.messageEvents()).toEqual(expect.arrayContaining(received(behind)));
    house.control('faults/clear');
    await here.readAll(contactId);
    expect(await here.messageEvents()).toEqual(received(ids));
  },
);

describe.each(['newestFirst', 'oldestFirst'] as const)('an unchanged contact in order %s', (order) => {
  it.each([1, 19, 20, 21, 40, 75])(
    'with %d messages costs one request per poll once its order is known',
    async (count) => {
      const { house } = here;
      house.control('settings', { order });
      const { contactId } = await here.createKnownContact(count);
      const before = house.requests(/messages/);
      for (let poll = 0; poll < 3; poll += 1) await house.polls.poll(A, contactId);
      expect(house.requests(/messages/) - before).toBe(3);
      const ids = house.messages(contactId, { count: 2, intervalMs: 10 });
      await house.polls.poll(A, contactId);
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );
});

describe('if pages without known messages are held back while another worker commits their messages,', () => {
  it('no message is emitted twice, and each later change is emitted', async () => {
    const { house } = here;
    house.control('settings', { limitCap: 20 });
    const { contactId } = await here.createKnownContact(25);
    const ids = house.messages(contactId, { count: 30, intervalMs: 10 });
    const edit = async (text: string): Promise<void> => {
      house.control('messages/edit', { id: ids.at(-1), text });
      await house.polls.pollHead(A, contactId);
    };
    const stop = new AbortController();
    const source = here.afterPage(2, async () => {
      await house.polls.pollHead(A, contactId);
      await edit('once');
      stop.abort();
    });
    await house.poller(source, 'silent', { sweepMs: 0 }).readDeep(A, contactId, 'poll', stop.signal);
    await edit('twice');
    const updated = `message.updated ${String(ids.at(-1))}`;
    expect(await here.messageEvents()).toEqual([...received(ids), updated, updated].sort());
  });

  it('and all formerly known messages vanish, no new baseline starts', async () => {
    const { house } = here;
    house.control('settings', { limitCap: 20 });
    const { contactId, ids: before } = await here.createKnownContact(15);
    const ids = house.messages(contactId, { count: 20, intervalMs: 10 });
    const source = here.afterPage(2, async () => {
      await house.polls.pollHead(A, contactId);
      house.control('messages/delete', { ids: before });
    });
    await house.poller(source, 'silent', { sweepMs: 0 }).readDeep(A, contactId, 'poll');
    expect(await here.messageEvents()).toEqual(received(ids));
    expect(await house.types()).not.toContain('contact.resynced');
  });
});
