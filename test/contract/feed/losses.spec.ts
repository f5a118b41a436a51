import { describe, expect, it } from '@jest/globals';
import { accountKeys, type AccountKeys } from '#platform';
import { RedisBackup } from '../../support/redis-backup.js';
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

describe('after Redis lost its last seconds,', () => {
  it('events of other contents have other ids than the lost events', async () => {
    const { house } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    const before = await RedisBackup.create(house.redis, house.prefix);
    const [id] = ids;
    const [fresh] = house.messages(contactId);
    house.control('messages/edit', { id, message: 'Read by a subscriber' });
    await house.sweep();
    const lost = await house.events();
    expect(lost).toHaveLength(2);

    await before.restore(here.redis);
    house.control('messages/edit', { id, message: 'Edited meanwhile' });
    house.control('messages/edit', { id: fresh, message: 'Edited, too' });
    await house.sweep();
    const emitted = await house.events();
    expect(emitted.map(({ type }) => type)).toEqual(['message.received', 'message.updated']);
    expect(emitted.filter((event) => lost.some((other) => other.id === event.id))).toEqual([]);
    // The revision floor stays: later events do not reuse a lost id either.
    house.control('messages/edit', { id, message: 'Edited again' });
    await house.sweep();
    const last = (await house.events()).slice(2);
    expect(last.map(({ type }) => type)).toEqual(['message.updated']);
    expect(lost.some((other) => other.id === last[0]?.id)).toBe(false);
  });

  it('a poll that began before the loss commits nothing, since events it relies on may be lost', async () => {
    const { house } = here;
    const { contactId } = await here.createKnownContact(5);
    const before = await RedisBackup.create(house.redis, house.prefix);
    const [lost = ''] = house.messages(contactId);
    await house.sweep();
    house.control('messages/edit', { id: lost, message: 'Edited' });
    const straddling = here.afterPage(1, async () => {
      await before.restore(here.redis);
      // In the new Redis run, another poll brings the contact to the version that the first poll knows.
      house.control('messages/delete', { id: lost });
      await house.polls.poll(A, contactId);
      house.control('messages/restore', { id: lost });
    });
    await house.poller(straddling, 'silent', { sweepMs: 0 }).poll(A, contactId);
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received([lost]));
  });

  it('events of a contact have other ids than the lost events', async () => {
    const { house } = here;
    const { contactId } = await here.createKnownContact(5);
    const before = await RedisBackup.create(house.redis, house.prefix);
    house.control('contacts/edit', { contactId, name: 'Read by a subscriber' });
    await house.list.poll(A);
    const lost = await house.events();
    await before.restore(here.redis);
    house.control('contacts/edit', { contactId, name: 'Edited meanwhile' });
    await house.list.poll(A);
    const emitted = await house.events();
    expect([...lost, ...emitted].map(({ type }) => type)).toEqual(['contact.updated', 'contact.updated']);
    expect(emitted[0]?.id).not.toBe(lost[0]?.id);
  });
});

describe('after the loss of', () => {
  it.each(
    (['contact', 'messages', 'log', 'stream'] as const).flatMap((part) =>
      (['newestFirst', 'oldestFirst', 'random'] as const).map((order) => ({ part, order })),
    ),
  )(
    'the $part key ($order), a new baseline starts, contact.resynced is emitted once, and no message is emitted',
    async ({ part, order }) => {
      const { house } = here;
      house.control('settings', { order });
      const { contactId } = await here.createKnownContact(45);
      house.messages(contactId, { direction: 'outbound', delivered: true });
      await house.sweep();
      await lose(part, contactId);
      const before = (await house.types()).length;
      for (let reads = 0; reads < 3; reads += 1) await house.sweep();
      expect((await house.types()).slice(before)).toEqual(['contact.resynced']);
      const ids = house.messages(contactId, { count: 3, intervalMs: 10 });
      await house.sweep();
      const emitted = (await house.told()).slice(before + 1);
      expect(emitted.map(({ data }) => (data['message'] as { id: string }).id)).toEqual(ids);
    },
  );

  it('the stored contact list, the next list counts as the first: no event is repeated or missed', async () => {
    const { house } = here;
    const { contactId } = await here.createKnownContact(5);
    const ids = house.messages(contactId);
    await house.redis.del(accountKeys(house.prefix, A)('contacts'));
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual(['message.received']);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('messages, a later change is emitted even if a change of the same kind was emitted before', async () => {
    const { house } = here;
    const { contactId } = await here.createKnownContact(5);
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

  it('all upstream ids, account.suspect is emitted and nothing else', async () => {
    const { house } = here;
    house.control('contacts', { count: 15 });
    await house.list.poll(A);
    for (const id of (await house.store.knownContacts(A)).contacts.keys()) here.createOldMessages(id, 12);
    await house.sweep();
    house.control('upstream-replaced', { keep: 'everything' });
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual(['account.suspect']);
  });

  it('all upstream messages, found by a sweep, the old snapshots are deleted', async () => {
    const { house } = here;
    const { contactId, ids } = await here.createKnownContact(12);
    house.control('messages/delete', { ids });
    here.createOldMessages(contactId, 60);
    await here.readAll(contactId);
    expect(await house.types()).toEqual(['contact.resynced']);
    const stored = await house.store.allKnownMessages(A, contactId);
    expect(ids.filter((id) => stored.has(id))).toEqual([]);
  });

  it('all upstream messages, a message that returns is emitted again with a new event id', async () => {
    const { house } = here;
    const { contactId, ids: old } = await here.createKnownContact(2);
    const ids = house.messages(contactId, { count: 12, intervalMs: 10 });
    await house.sweep();
    house.control('messages/delete', { ids: [...old, ...ids] });
    here.createOldMessages(contactId, 60);
    await here.readAll(contactId);
    house.control('messages/restore', { ids: ids.slice(-1) });
    await here.readAll(contactId);
    const emitted = await house.told();
    const types = emitted.map(({ type }) => type);
    expect(types.slice(12)).toEqual(['contact.resynced', 'message.received']);
    expect((emitted.at(-1)?.data['message'] as { id: string }).id).toBe(ids.at(-1));
    const events = await house.events();
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('all upstream messages, found by a head read, the contact is resynced and no old message is emitted', async () => {
    const { house } = here;
    const { contactId, ids } = await here.createKnownContact(30);
    house.control('messages/delete', { ids });
    here.createOldMessages(contactId, 30);
    await house.sweep();
    await house.sweep();
    expect(await house.types()).toEqual(['contact.resynced']);
    const fresh = house.messages(contactId);
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received(fresh));
  });
});

describe('two pollers on one contact', () => {
  it.each(['newestFirst', 'oldestFirst'] as const)(
    'emit each change once if the lease of the first expires during its read: %s',
    async (order) => {
      const { house } = here;
      house.control('settings', { order });
      const { contactId } = await here.createKnownContact(30);
      const ids = house.messages(contactId, { count: 25, intervalMs: 10 });
      const claim = async (leaseMs: number): Promise<boolean> =>
        (await house.takeDue(1, leaseMs)).includes(contactId);
      await house.store.hasten(A, contactId, 0);
      expect(await claim(100)).toBe(true);
      let second = false;
      const slow = here.afterPage(order === 'newestFirst' ? 1 : 2, async () => {
        await eventually('the lease has expired', () => claim(60_000));
        second = true;
        await house.polls.poll(A, contactId);
        ids.push(...house.messages(contactId));
      });
      expect(await house.poller(slow).poll(A, contactId)).toBe(true);
      await house.sweep();
      expect(second).toBe(true);
      expect(await here.messageEvents()).toEqual(received(ids));
      const sequences = (await house.told()).map(({ sequence }) => sequence);
      expect(sequences).toEqual(ids.map((__, n) => n + 1));
    },
  );
});

describe('the stored state of a contact', () => {
  const damages = {
    memory: (keys: AccountKeys, contactId: string) =>
      here.house.redis.hset(keys('c', contactId), 'm0', '{"order":"newestFirst"}'),
    'a message at the head': (keys: AccountKeys, contactId: string, id: string) =>
      here.house.redis.hset(keys('m', contactId), packId(id), 'damaged'),
    'a field with an invalid id': (keys: AccountKeys, contactId: string) =>
      here.house.redis.hset(keys('m', contactId), Buffer.of(0xff, 1, 2), 'damaged'),
  };
  it.each(Object.entries(damages))(
    'with damaged bytes (%s) counts as lost: a new baseline starts and contact.resynced is emitted once',
    async (_, damage) => {
      const { house } = here;
      const { contactId, ids } = await here.createKnownContact(45);
      await damage(accountKeys(house.prefix, A), contactId, ids.at(-1) ?? '');
      await here.readAll(contactId);
      for (let reads = 0; reads < 3; reads += 1) await house.sweep();
      expect(await house.types()).toEqual(['contact.resynced']);
      const fresh = house.messages(contactId, { count: 3, intervalMs: 10 });
      await house.sweep();
      expect(await here.messageEvents()).toEqual(received(fresh));
    },
  );
});
