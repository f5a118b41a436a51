import { describe, expect, it } from '@jest/globals';
import { accountKeys, type AccountKeys } from '#platform';
import { RedisMemory } from '../../support/redis-memory.js';
import { eventually } from '../../support/eventually.js';
import { packId } from '../../../libs/feed/src/snapshot/id-codec.js';
import { A } from './house.js';
import { received, WithHouse } from './with-house.js';

const here = new WithHouse();

type Part = 'contact' | 'messages' | 'log' | 'stream';

async function lose(part: Part, contactId: string): Promise<void> {
  const { house } = here;
  const keys = accountKeys(house.prefix, A);
  const lost = {
    contact: [keys('c', contactId)],
    messages: [keys('m', contactId)],
    log: [keys('events'), keys('events', 'index'), keys('events', 'counters')],
    stream: [keys('events')],
  };
  expect(await house.redis.del(...lost[part])).toBeGreaterThan(0);
}

describe('after Redis lost its last seconds', () => {
  it('what is told anew shares no id with what was told of another form', async () => {
    const { house } = here;
    const { contactId, ids } = await here.learned(5);
    const before = await RedisMemory.of(house.redis, house.prefix);
    const [id] = ids;
    const [fresh] = house.messages(contactId);
    house.control('messages/edit', { id, message: 'Read by a subscriber' });
    await house.sweep();
    const lost = await house.events();
    expect(lost).toHaveLength(2);

    await before.loseAllSince(here.redis);
    house.control('messages/edit', { id, message: 'Edited meanwhile' });
    house.control('messages/edit', { id: fresh, message: 'Edited, too' });
    await house.sweep();
    const told = await house.events();
    expect(told.map(({ type }) => type)).toEqual(['message.received', 'message.updated']);
    expect(told.filter((event) => lost.some((other) => other.id === event.id))).toEqual([]);
    // And it goes on like that: the floor stays.
    house.control('messages/edit', { id, message: 'Edited again' });
    await house.sweep();
    const last = (await house.events()).slice(2);
    expect(last.map(({ type }) => type)).toEqual(['message.updated']);
    expect(lost.some((other) => other.id === last[0]?.id)).toBe(false);
  });

  it('a poll that began before commits nothing: what it believes to be told may be lost', async () => {
    const { house } = here;
    const { contactId } = await here.learned(5);
    const before = await RedisMemory.of(house.redis, house.prefix);
    const [lost = ''] = house.messages(contactId);
    await house.sweep();
    house.control('messages/edit', { id: lost, message: 'Edited' });
    const straddling = here.afterPage(1, async () => {
      await before.loseAllSince(here.redis);
      // In the new life another poll brings the contact to the version that the first one knows, and sees nothing of it.
      house.control('messages/delete', { id: lost });
      await house.polls.poll(A, contactId);
      house.control('messages/restore', { id: lost });
    });
    await house.poller(straddling, 'silent', { sweepMs: 0 }).poll(A, contactId);
    await house.sweep();
    expect(await here.told()).toEqual(received([lost]));
  });

  it('the same holds for what is told of a contact', async () => {
    const { house } = here;
    const { contactId } = await here.learned(5);
    const before = await RedisMemory.of(house.redis, house.prefix);
    house.control('contacts/edit', { contactId, name: 'Read by a subscriber' });
    await house.list.poll(A);
    const lost = await house.events();
    await before.loseAllSince(here.redis);
    house.control('contacts/edit', { contactId, name: 'Edited meanwhile' });
    await house.list.poll(A);
    const told = await house.events();
    expect([...lost, ...told].map(({ type }) => type)).toEqual(['contact.updated', 'contact.updated']);
    expect(told[0]?.id).not.toBe(lost[0]?.id);
  });
});

describe('after one part was lost', () => {
  it.each(
    (['contact', 'messages', 'log', 'stream'] as const).flatMap((part) =>
      (['newestFirst', 'oldestFirst', 'random'] as const).map((order) => ({ part, order })),
    ),
  )(
    '($part, $order) a new baseline is taken, contact.resynced says so once, and there is no storm',
    async ({ part, order }) => {
      const { house } = here;
      house.control('settings', { order });
      const { contactId } = await here.learned(45);
      house.messages(contactId, { direction: 'outbound', delivered: true });
      await house.sweep();
      await lose(part, contactId);
      const before = (await house.types()).length;
      for (let reads = 0; reads < 3; reads += 1) await house.sweep();
      expect((await house.types()).slice(before)).toEqual(['contact.resynced']);
      const ids = house.messages(contactId, { count: 3, intervalMs: 10 });
      await house.sweep();
      const told = (await house.told()).slice(before + 1);
      expect(told.map(({ data }) => (data['message'] as { id: string }).id)).toEqual(ids);
    },
  );

  it('(what the contact list said) the next list is taken as the first: nothing is told, nothing missed', async () => {
    const { house } = here;
    const { contactId } = await here.learned(5);
    const ids = house.messages(contactId);
    await house.redis.del(accountKeys(house.prefix, A)('contacts'));
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual(['message.received']);
    expect(await here.told()).toEqual(received(ids));
  });

  it('a change after it is told although one of the same kind was told before it', async () => {
    const { house } = here;
    const { contactId } = await here.learned(5);
    const [id = ''] = house.messages(contactId);
    await house.sweep();
    for (const message of ['a', 'b', 'lost', 'c', 'd', 'e']) {
      if (message === 'lost') await lose('messages', contactId);
      else house.control('messages/edit', { id, message });
      await house.sweep();
    }
    const updated = Array.from({ length: 5 }, () => 'message.updated');
    updated.splice(2, 0, 'contact.resynced');
    expect(await house.types()).toEqual(['message.received', ...updated]);
  });

  it('(upstream, set up anew with other ids) it is told as that, and there is no storm', async () => {
    const { house } = here;
    house.control('contacts', { count: 15 });
    await house.list.poll(A);
    for (const id of (await house.store.knownContacts(A)).contacts.keys()) here.old(id, 12);
    await house.sweep();
    house.control('upstream-replaced', { keep: 'everything' });
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual(['account.suspect']);
  });

  it('(the same, found by a sweep) nothing of the old messages is kept, so none is missed later', async () => {
    const { house } = here;
    const { contactId, ids } = await here.learned(12);
    house.control('messages/delete', { ids });
    here.old(contactId, 60);
    await here.readAll(contactId);
    expect(await house.types()).toEqual(['contact.resynced']);
    const stored = await house.store.allKnownMessages(A, contactId);
    expect(ids.filter((id) => stored.has(id))).toEqual([]);
  });

  it('(the same) one that returns later is told again, under an id of its own, although it was told before', async () => {
    const { house } = here;
    const { contactId, ids: old } = await here.learned(2);
    const ids = house.messages(contactId, { count: 12, intervalMs: 10 });
    await house.sweep();
    house.control('messages/delete', { ids: [...old, ...ids] });
    here.old(contactId, 60);
    await here.readAll(contactId);
    house.control('messages/restore', { ids: ids.slice(-1) });
    await here.readAll(contactId);
    const told = await house.told();
    const types = told.map(({ type }) => type);
    expect(types.slice(12)).toEqual(['contact.resynced', 'message.received']);
    expect((told.at(-1)?.data['message'] as { id: string }).id).toBe(ids.at(-1));
    const events = await house.events();
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('(the messages of a contact, which all have other ids) it is resynced, and there is no storm', async () => {
    const { house } = here;
    const { contactId, ids } = await here.learned(30);
    house.control('messages/delete', { ids });
    here.old(contactId, 30);
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual(['contact.resynced']);
    const fresh = house.messages(contactId);
    await house.sweep();
    expect(await here.told()).toEqual(received(fresh));
  });
});

describe('two pollers on one contact', () => {
  it.each(['newestFirst', 'oldestFirst'] as const)(
    'whose first one’s lease expires while it reads tell each change once: %s',
    async (order) => {
      const { house } = here;
      house.control('settings', { order });
      const { contactId } = await here.learned(30);
      const ids = house.messages(contactId, { count: 25, intervalMs: 10 });
      const claim = async (leaseMs: number): Promise<boolean> =>
        (await house.takeDue(1, leaseMs)).includes(contactId);
      await house.store.hasten(A, contactId, 0);
      expect(await claim(100)).toBe(true);
      let second = false;
      const slow = here.afterPage(order === 'newestFirst' ? 1 : 2, async () => {
        await eventually('the lease is over', () => claim(60_000));
        second = true;
        await house.polls.poll(A, contactId);
        ids.push(...house.messages(contactId));
      });
      expect(await house.poller(slow).poll(A, contactId)).toBe(true);
      await house.sweep();
      expect(second).toBe(true);
      expect(await here.told()).toEqual(received(ids));
      const sequences = (await house.told()).map(({ sequence }) => sequence);
      expect(sequences).toEqual(ids.map((__, n) => n + 1));
    },
  );
});

describe('what is remembered of a contact, damaged or of another version,', () => {
  const damages = {
    memory: (keys: AccountKeys, contactId: string) =>
      here.house.redis.hset(keys('c', contactId), 'm0', '{"order":"newestFirst"}'),
    'a message on the head': (keys: AccountKeys, contactId: string, id: string) =>
      here.house.redis.hset(keys('m', contactId), packId(id), 'damaged'),
    'a field that is no id': (keys: AccountKeys, contactId: string) =>
      here.house.redis.hset(keys('m', contactId), Buffer.of(0xff, 1, 2), 'damaged'),
  };
  it.each(Object.entries(damages))(
    '(%s) is lost: a new baseline is taken, and told once',
    async (_, damage) => {
      const { house } = here;
      const { contactId, ids } = await here.learned(45);
      await damage(accountKeys(house.prefix, A), contactId, ids.at(-1) ?? '');
      await here.readAll(contactId);
      for (let reads = 0; reads < 3; reads += 1) await house.sweep();
      expect(await house.types()).toEqual(['contact.resynced']);
      const fresh = house.messages(contactId, { count: 3, intervalMs: 10 });
      await house.sweep();
      expect(await here.told()).toEqual(received(fresh));
    },
  );
});
