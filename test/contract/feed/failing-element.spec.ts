import { describe, expect, it } from '@jest/globals';
import type { FeedSource } from '#feed';
import { UpstreamStatusError } from '#upstream';
import { A } from './house.js';
import { DAY_MS, NUMBER, received, WithHouse } from './with-house.js';

const here = new WithHouse();
/** Documented page size of upstream. */
const PAGE_LIMIT = 20;

describe('a deep read of all pages', () => {
  it('keeps the known order if messages arrive meanwhile', async () => {
    const { house } = here;
    house.control('settings', { limitCap: 20 });
    const { contactId } = await here.createKnownContact(50);
    const source = here.afterPage(1, () => house.messages(contactId, { count: 3, intervalMs: 10 }));
    await house.poller(source, 'silent', { sweepMs: 0 }).readDeep(A, contactId, 'poll');
    expect((await house.store.contactState(A, contactId))?.memory.order).toBe('newestFirst');
  });
});

describe('a message below the head that makes its page fail', () => {
  it('is skipped and counted once; the messages after it are read, and the order stays known', async () => {
    const { house } = here;
    const { contactId, ids } = await here.createKnownContact(50);
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
    expect(await here.messageEvents()).toEqual(
      [...received(fresh), `message.updated ${ids[5] ?? ''}`].sort(),
    );
    expect((await house.store.overview(A)).skipped).toBe(1);
  });
});

describe('a message that makes its page fail, if upstream caps pages,', () => {
  it.each([4, 8, 11])('hides no other message: message %i of 12 in pages of 3', async (index) => {
    const { house } = here;
    house.control('settings', { limitCap: 3 });
    const { contactId, ids } = await here.createKnownContact(12);
    house.control('settings', { failingMessageIds: [ids.at(-1 - index)] });
    const edited = ids.filter((_, i) => i !== ids.length - 1 - index);
    for (const id of edited) house.control('messages/edit', { id, message: 'Edited' });
    const poller = house.poller(house.source, 'silent', { sweepMs: 0, pageRetriesMs: [0] });
    await poller.poll(A, contactId);
    expect(await here.messageEvents()).toEqual(edited.map((id) => `message.updated ${id}`).sort());
    expect((await house.store.overview(A)).skipped).toBe(1);
  });
});

describe('a first page that fails once, if upstream caps pages,', () => {
  it('does not prevent the read of new messages on the last page', async () => {
    const { house } = here;
    house.control('settings', { order: 'oldestFirst', limitCap: 2 });
    const contactId = house.contact(NUMBER);
    // Equal timestamps: the order, and so the page of new messages, is unknown.
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
    expect(await here.messageEvents()).toEqual(received(fresh));
  });
});

describe('a missing message that an unreadable element may have hidden', () => {
  it('is missing only from the first complete read without unreadable elements', async () => {
    const { house } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    house.control('faults', {
      match: { contactId },
      fault: { kind: 'poisonMessage', garbage: 'noId', mode: 'replace', position: 2 },
      // The head read, and page 1 of the deep read.
      times: 2,
    });
    await here.readAll(contactId);
    house.control('faults/clear');
    house.control('messages/delete', { id: ids[2] });
    await here.readAllMinutesApart(contactId, 1);
    expect(await here.messageEvents()).toEqual([]);
    await here.readAllMinutesApart(contactId, 1);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[2] ?? ''}`]);
  });
});
