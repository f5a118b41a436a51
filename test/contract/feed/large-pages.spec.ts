import { describe, expect, it } from '@jest/globals';
import type { FeedSource } from '#feed';
import { createLogger } from '#platform';
import { UpstreamStatusError, UpstreamTimeoutError } from '#upstream';
import { ACCOUNT } from './feed-harness.js';
import { DAY_MS, NUMBER, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();
/** Documented page size of upstream. */
const PAGE_LIMIT = 20;

/** Returns a source that records the limit of each page request. */
function watched(
  read: FeedSource['listMessages'] = here.harness.source.listMessages.bind(here.harness.source),
): {
  source: FeedSource;
  limits: number[];
} {
  const limits: number[] = [];
  const source: FeedSource = {
    ...here.harness.source,
    listMessages: (account, contactId, page, limit, purpose) => {
      limits.push(limit);
      return read(account, contactId, page, limit, purpose);
    },
  };
  return { source, limits };
}

describe.each(['newestFirst', 'oldestFirst'] as const)(
  'a page with one huge message (order of messages: %s)',
  (order) => {
    it('is read in parts: the huge message is skipped until it has a normal size, and every other message causes an event', async () => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(10);
      const ids = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
      const [huge, ...others] = [ids[17], ...ids.slice(0, 17), ...ids.slice(18)];
      harness.control('settings', { hugePage: { bytes: 100_000_000, per: 'message', messageId: huge } });
      const before = process.memoryUsage().rss;
      await harness.sweep();
      await harness.sweep();
      // The simulator that streams the page runs in the same process.
      expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
      expect(await here.messageEvents()).toEqual(received(others));
      harness.control('settings', { hugePage: null });
      await here.readAll(contactId);
      expect(await here.messageEvents()).toEqual(received(ids));
    });
  },
);

describe('a page limit above 20', () => {
  it.each(['newestFirst', 'oldestFirst', 'random'] as const)(
    'is used for reads of older messages once upstream has accepted the limit (order of messages: %s)',
    async (order) => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(130);
      const { source, limits } = watched();
      const poller = harness.poller(source, 'silent', { sweepMs: 0 });
      await poller.pollHead(ACCOUNT, contactId);
      limits.length = 0;
      await poller.runDeepRead(ACCOUNT, contactId, 'poll');
      expect(limits.every((limit) => limit === 100)).toBe(true);
      expect(limits.length).toBeLessThanOrEqual(4);
      const ids = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
      await harness.sweep();
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );

  it.each([{ limitIgnored: true }, { limitCap: 20 }, { limitCap: 7 }, { limitCap: 50 }])(
    'does not prevent the detection of new and deleted messages with the simulator settings %j',
    async (settings) => {
      const { harness } = here;
      harness.control('settings', settings);
      const { contactId, ids } = await here.createKnownContact(75);
      expect((await harness.store.contactState(ACCOUNT, contactId))?.storedMessages).toBe(75);
      harness.control('messages/delete', { id: ids[30] });
      const [late] = harness.createMessages(contactId, { timestamp: Date.now() - 3 * 86_400_000 + 500 });
      await here.readAllMinutesApart(contactId, 2);
      expect(await here.messageEvents()).toEqual([
        `message.deleted ${ids[30] ?? ''}`,
        ...received([late ?? '']),
      ]);
    },
  );

  it.each([18, 20, 21, 38, 39, 40, 41, 42, 60])(
    'does not cause a read of all pages after each poll if upstream ignores the limit and lists the oldest messages first (%i messages)',
    async (count) => {
      const { harness } = here;
      harness.control('settings', { order: 'oldestFirst', limitIgnored: true });
      const { contactId } = await here.createKnownContact(count);
      await harness.sweep();
      const before = harness.countRequests(/messages/);
      for (let polls = 0; polls < 3; polls += 1) await harness.polls.poll(ACCOUNT, contactId);
      // After a page that is as long as any other, two more requests find out whether the list ends there.
      const perPoll = count < PAGE_LIMIT || count % PAGE_LIMIT === 0 ? 3 : 1;
      expect(harness.countRequests(/messages/) - before).toBe(3 * perPoll);
      const ids = harness.createMessages(contactId, { count: 25, intervalMs: 10 });
      await harness.polls.poll(ACCOUNT, contactId);
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );

  it('does not hide a new message on page 2 if upstream returns at most 50 messages per page', async () => {
    const { harness } = here;
    harness.control('settings', { order: 'oldestFirst', limitCap: 50 });
    const contactId = harness.createContact(NUMBER);
    // Equal timestamps: the order, and so the page of new messages, is unknown.
    const timestamp = Date.now() - 3 * DAY_MS;
    harness.createMessages(contactId, { count: 50, timestamp });
    for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
    const ids = harness.createMessages(contactId, { timestamp });
    await harness.polls.poll(ACCOUNT, contactId);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it.each([
    new UpstreamStatusError(400, 'limit must be at most 20', undefined),
    new UpstreamStatusError(500, '', undefined),
    new UpstreamTimeoutError(10_000),
  ])('is not requested again until the next sweep if upstream refuses the limit (%s)', async (refusal) => {
    const { harness } = here;
    const { source } = harness;
    const { source: refusing, limits } = watched((account, contactId, page, limit, purpose) =>
      limit > 20 ? Promise.reject(refusal) : source.listMessages(account, contactId, page, limit, purpose),
    );
    const { contactId } = await here.createKnownContact(45);
    // Upstream honoured the limit before: the feed must forget that as well.
    await harness.poller(refusing, 'silent', { sweepMs: 0 }).poll(ACCOUNT, contactId);
    expect(limits).toContain(100);
    expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.limit).toBe(20);
    limits.length = 0;
    const ids = harness.createMessages(contactId, { count: 25, intervalMs: 10 });
    await harness.poller(refusing).poll(ACCOUNT, contactId);
    await harness.poller(refusing).poll(ACCOUNT, contactId);
    expect(limits).not.toContain(100);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('does not prevent the check of flags of older messages if upstream refuses the limit', async () => {
    const { harness } = here;
    const { source } = harness;
    const { source: refusing } = watched((account, contactId, page, limit, purpose) =>
      limit > 20
        ? Promise.reject(new UpstreamStatusError(400, 'limit must be at most 20', undefined))
        : source.listMessages(account, contactId, page, limit, purpose),
    );
    const { contactId } = await here.createKnownContact(45);
    const timestamp = Date.now() - 3_600_000;
    const [sent = ''] = harness.createMessages(contactId, { direction: 'outbound', timestamp });
    harness.createMessages(contactId, { count: 30, timestamp: timestamp + 1_000, intervalMs: 10 });
    await harness.sweep();
    await harness.sweep();
    expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.limit).toBe(100);
    harness.control('messages/flags', { id: sent, delivered: true });
    harness.store.aheadMs += 2 * 3_600_000;
    expect(await harness.poller(refusing).runDeepRead(ACCOUNT, contactId, 'poll')).toBe(true);
    expect(await here.messageEvents()).toContain(`message.delivered ${sent}`);
  });

  it('is requested again by the next sweep after upstream failed to return one long page', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(145);
    let failures = 0;
    const { source } = watched((account, id, page, limit, purpose) => {
      if (limit > 20 && failures++ === 0) return Promise.reject(new UpstreamTimeoutError(10_000));
      return harness.source.listMessages(account, id, page, limit, purpose);
    });
    const limitAfterSweep = async (): Promise<number | undefined> => {
      await harness.poller(source, 'silent', { sweepMs: 0 }).poll(ACCOUNT, contactId);
      return (await harness.store.contactState(ACCOUNT, contactId))?.pollState.limit;
    };
    expect(await limitAfterSweep()).toBe(20);
    expect(await limitAfterSweep()).toBe(100);
  });

  it('does not prevent the detection of a deletion, even if each read returns messages in another order', async () => {
    const { harness } = here;
    harness.control('settings', { order: 'random' });
    const { contactId, ids } = await here.createKnownContact(80);
    harness.control('messages/delete', { id: ids[40] });
    await here.readAllMinutesApart(contactId, 2);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[40] ?? ''}`]);
  });
});

describe('an unreadable element in a page of messages', () => {
  it('is logged and counted once', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(8);
    const lines: string[] = [];
    const logger = createLogger('test', 'warn', { write: (line) => lines.push(line) });
    harness.control('faults', { match: { path: 'page=1' }, fault: poison('insert'), times: 'always' });
    for (let read = 0; read < 3; read += 1) {
      await harness.poller(harness.source, 'silent', { sweepMs: 0 }, logger).poll(ACCOUNT, contactId);
    }
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ contactId, count: 1 }]);
    expect(await harness.store.overview(ACCOUNT)).toMatchObject({ unreadable: 1, skipped: 0 });
  });

  it('prevents message.deleted while the element is unreadable, as it may be the missing message', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(8);
    harness.control('faults', { match: { contactId }, fault: poison('replace'), times: 'always' });
    harness.control('messages/delete', { id: ids[1] });
    await here.readAllMinutesApart(contactId, 4);
    expect(await harness.eventTypes()).toEqual([]);
    harness.control('faults/clear');
    await here.readAllMinutesApart(contactId, 2);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[1] ?? ''}`]);
  });

  it('does not prevent message.deleted if the element was already in the first read, because it then cannot be the missing message', async () => {
    const { harness } = here;
    harness.control('faults', { match: { path: 'page=1' }, fault: poison('insert'), times: 'always' });
    const { contactId, ids } = await here.createKnownContact(8);
    harness.control('messages/delete', { id: ids[1] });
    await here.readAllMinutesApart(contactId, 2);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[1] ?? ''}`]);
  });
});

function poison(mode: 'insert' | 'replace'): object {
  return { kind: 'poisonMessage', garbage: 'noId', position: 2, mode };
}
