import { describe, expect, it } from '@jest/globals';
import type { FeedSource } from '#feed';
import { createLogger } from '#platform';
import { UpstreamStatusError, UpstreamTimeoutError } from '#upstream';
import { A } from './house.js';
import { received, WithHouse } from './with-house.js';

const here = new WithHouse();

/** Returns a source that records the limit of each page request. */
function watched(read: FeedSource['listMessages'] = here.house.source.listMessages.bind(here.house.source)): {
  source: FeedSource;
  limits: number[];
} {
  const limits: number[] = [];
  const source: FeedSource = {
    ...here.house.source,
    listMessages: (account, contactId, page, limit, purpose) => {
      limits.push(limit);
      return read(account, contactId, page, limit, purpose);
    },
  };
  return { source, limits };
}

describe.each(['newestFirst', 'oldestFirst'] as const)('a page of 100 MB in order %s', (order) => {
  it('is read in parts: the oversized message is skipped, and all others are emitted', async () => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId } = await here.createKnownContact(10);
    const ids = house.messages(contactId, { count: 30, intervalMs: 10 });
    const [huge, ...others] = [ids[17], ...ids.slice(0, 17), ...ids.slice(18)];
    house.control('settings', { hugePage: { bytes: 100_000_000, per: 'message', messageId: huge } });
    const before = process.memoryUsage().rss;
    await house.sweep();
    await house.sweep();
    // The simulator that streams the page runs in the same process.
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
    expect(await here.messageEvents()).toEqual(received(others));
    house.control('settings', { hugePage: null });
    await here.readAll(contactId);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('that has only oversized messages emits nothing, deletes nothing, and the poll ends', async () => {
    const { house } = here;
    house.control('settings', { order });
    const { contactId } = await here.createKnownContact(5);
    house.control('settings', { hugePage: { bytes: 20_000_000, per: 'message', contactId } });
    await here.readAllMinutesApart(contactId, 3);
    expect(await house.types()).toEqual([]);
    house.control('settings', { hugePage: null });
    const ids = house.messages(contactId);
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received(ids));
  });
});

describe('a limit above 20', () => {
  it.each(['newestFirst', 'oldestFirst', 'random'] as const)(
    'is used in deep reads once upstream has shown that it honours the limit: %s',
    async (order) => {
      const { house } = here;
      house.control('settings', { order });
      const { contactId } = await here.createKnownContact(130);
      const { source, limits } = watched();
      const poller = house.poller(source, 'silent', { sweepMs: 0 });
      await poller.pollHead(A, contactId);
      limits.length = 0;
      await poller.readDeep(A, contactId, 'poll');
      expect(limits.every((limit) => limit === 100)).toBe(true);
      expect(limits.length).toBeLessThanOrEqual(4);
      const ids = house.messages(contactId, { count: 30, intervalMs: 10 });
      await house.sweep();
      await house.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );

  it.each([{ limitIgnored: true }, { limitCap: 20 }, { limitCap: 7 }, { limitCap: 50 }])(
    'does no harm if upstream behaves as %j',
    async (settings) => {
      const { house } = here;
      house.control('settings', settings);
      const { contactId, ids } = await here.createKnownContact(75);
      expect((await house.store.contactState(A, contactId))?.stored).toBe(75);
      house.control('messages/delete', { id: ids[30] });
      const [late] = house.messages(contactId, { timestamp: Date.now() - 3 * 86_400_000 + 500 });
      await here.readAllMinutesApart(contactId, 2);
      expect(await here.messageEvents()).toEqual([
        `message.deleted ${ids[30] ?? ''}`,
        ...received([late ?? '']),
      ]);
    },
  );

  it.each([
    new UpstreamStatusError(400, 'limit must be at most 20', undefined),
    new UpstreamStatusError(500, '', undefined),
    new UpstreamTimeoutError(10_000),
  ])(
    'is abandoned if upstream refuses it (%s), and not requested again until the next sweep',
    async (refusal) => {
      const { house } = here;
      const { source } = house;
      const { source: refusing, limits } = watched((account, contactId, page, limit, purpose) =>
        limit > 20 ? Promise.reject(refusal) : source.listMessages(account, contactId, page, limit, purpose),
      );
      const { contactId } = await here.createKnownContact(45);
      // Upstream honoured the limit before: the feed must forget that as well.
      await house.poller(refusing, 'silent', { sweepMs: 0 }).poll(A, contactId);
      expect(limits).toContain(100);
      expect((await house.store.contactState(A, contactId))?.memory.limit).toBe(20);
      limits.length = 0;
      const ids = house.messages(contactId, { count: 25, intervalMs: 10 });
      await house.poller(refusing).poll(A, contactId);
      await house.poller(refusing).poll(A, contactId);
      expect(limits).not.toContain(100);
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );

  it('detects a deletion even if each read has another order', async () => {
    const { house } = here;
    house.control('settings', { order: 'random' });
    const { contactId, ids } = await here.createKnownContact(80);
    house.control('messages/delete', { id: ids[40] });
    await here.readAllMinutesApart(contactId, 2);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[40] ?? ''}`]);
  });
});

describe('an unreadable element', () => {
  it('is logged and counted once', async () => {
    const { house } = here;
    const { contactId } = await here.createKnownContact(8);
    const lines: string[] = [];
    const logger = createLogger('test', 'warn', { write: (line) => lines.push(line) });
    house.control('faults', { match: { path: 'page=1' }, fault: poison('insert'), times: 'always' });
    for (let read = 0; read < 3; read += 1) {
      await house.poller(house.source, 'silent', { sweepMs: 0 }, logger).poll(A, contactId);
    }
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ contactId, count: 1 }]);
    expect((await house.store.overview(A)).unreadable).toBe(1);
  });

  it('may be the missing message: then nothing is deleted until all elements are readable', async () => {
    const { house } = here;
    const { contactId, ids } = await here.createKnownContact(8);
    house.control('faults', { match: { contactId }, fault: poison('replace'), times: 'always' });
    house.control('messages/delete', { id: ids[1] });
    await here.readAllMinutesApart(contactId, 4);
    expect(await house.types()).toEqual([]);
    house.control('faults/clear');
    await here.readAllMinutesApart(contactId, 2);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[1] ?? ''}`]);
  });

  it('that was there from the start hides no deletion', async () => {
    const { house } = here;
    house.control('faults', { match: { path: 'page=1' }, fault: poison('insert'), times: 'always' });
    const { contactId, ids } = await here.createKnownContact(8);
    house.control('messages/delete', { id: ids[1] });
    await here.readAllMinutesApart(contactId, 2);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[1] ?? ''}`]);
  });
});

function poison(mode: 'insert' | 'replace'): object {
  return { kind: 'poisonMessage', garbage: 'noId', position: 2, mode };
}
