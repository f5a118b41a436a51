import { describe, expect, it } from '@jest/globals';
import { A } from './house.js';
import { received, WithHouse } from './with-house.js';

const here = new WithHouse();

describe('a reading of everything', () => {
  it('keeps the order that it knows though messages come while it goes on', async () => {
    const { house } = here;
    house.control('settings', { limitCap: 20 });
    const { contactId } = await here.learned(50);
    const source = here.afterPage(1, () => house.messages(contactId, { count: 3, intervalMs: 10 }));
    await house.poller(source, 'silent', { sweepMs: 0 }).readDeep(A, contactId, 'poll');
    expect((await house.store.contactState(A, contactId))?.memory.order).toBe('newestFirst');
  });
});

describe('a message below the head that makes every page fail that holds it', () => {
  it('is skipped and counted once; what is behind it is read, and the order stays known', async () => {
    const { house } = here;
    const { contactId, ids } = await here.learned(50);
    house.control('settings', { failingMessageIds: [ids.at(-26)] });
    const poller = house.poller(house.source, 'silent', { sweepMs: 0, pageRetriesMs: [0] });
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      await poller.pollHead(A, contactId);
      expect(await poller.readDeep(A, contactId, 'poll')).toBe(true);
      expect((await house.store.contactState(A, contactId))?.memory.order).toBe('newestFirst');
    }
    const fresh = house.messages(contactId, { count: 2, intervalMs: 10 });
    house.control('messages/edit', { id: ids[5], message: 'Edited' });
    await poller.poll(A, contactId);
    expect(await here.told()).toEqual([...received(fresh), `message.updated ${ids[5] ?? ''}`].sort());
    expect((await house.store.overview(A)).skipped).toBe(1);
  });
});

describe('a message that makes a page fail, where upstream serves fewer than are asked for', () => {
  it.each([4, 8, 11])('hides none of its neighbours: message %i of 12 in pages of 3', async (place) => {
    const { house } = here;
    house.control('settings', { limitCap: 3 });
    const { contactId, ids } = await here.learned(12);
    house.control('settings', { failingMessageIds: [ids.at(-1 - place)] });
    const edited = ids.filter((_, i) => i !== ids.length - 1 - place);
    for (const id of edited) house.control('messages/edit', { id, message: 'Edited' });
    const poller = house.poller(house.source, 'silent', { sweepMs: 0, pageRetriesMs: [0] });
    await poller.poll(A, contactId);
    expect(await here.told()).toEqual(edited.map((id) => `message.updated ${id}`).sort());
    expect((await house.store.overview(A)).skipped).toBe(1);
  });
});
