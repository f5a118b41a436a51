import { describe, expect, it } from '@jest/globals';
import type { FeedSource } from '#feed';
import { UpstreamStatusError } from '#upstream';
import { A } from './house.js';
import { DAY_MS, NUMBER, received, WithHouse } from './with-house.js';

const here = new WithHouse();
/** The documented size of a page. */
const PAGE_LIMIT = 20;

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

describe('a first page that fails once, where upstream serves fewer than are asked for', () => {
  it('does not keep what is new on the last page from being read', async () => {
    const { house } = here;
    house.control('settings', { order: 'oldestFirst', limitCap: 2 });
    const contactId = house.contact(NUMBER);
    // Of one time: nothing shows where new ones will stand.
    house.messages(contactId, { count: 6, timestamp: Date.now() - DAY_MS });
    for (let reads = 0; reads < 3; reads += 1) await house.sweep();
    const fresh = house.messages(contactId, { count: 2, intervalMs: 10 });
    let fails = true;
    const source: FeedSource = {
      ...house.source,
      listMessages: async (account, contact, page, limit, purpose) => {
        if (page === 1 && limit === PAGE_LIMIT && fails) {
          fails = false;
          throw new UpstreamStatusError(500, 'no such row', undefined);
        }
        return house.source.listMessages(account, contact, page, limit, purpose);
      },
    };
    await house.poller(source, 'silent', { sweepMs: 0, pageRetriesMs: [] }).readDeep(A, contactId, 'poll');
    expect(await here.told()).toEqual(received(fresh));
  });
});

describe('a message that an element which cannot be read may have hidden', () => {
  it('is missing from the first read on that could read all', async () => {
    const { house } = here;
    const { contactId, ids } = await here.learned(5);
    house.control('faults', {
      match: { contactId },
      fault: { kind: 'poisonMessage', garbage: 'noId', mode: 'replace', position: 2 },
      // The head, and page 1 of the reading of everything.
      times: 2,
    });
    await here.readAll(contactId);
    house.control('faults/clear');
    house.control('messages/delete', { id: ids[2] });
    await here.readMinutes(contactId, 1);
    expect(await here.told()).toEqual([]);
    await here.readMinutes(contactId, 1);
    expect(await here.told()).toEqual([`message.deleted ${ids[2] ?? ''}`]);
  });
});
