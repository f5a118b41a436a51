import { describe, expect, it } from '@jest/globals';
import { type ClaimedPoll, type FeedSource, RedisPollQueue } from '#feed';
import { UpstreamStatusError } from '#upstream';
import { accountKeys } from '#platform';
import { ACCOUNT } from './feed-harness.js';
import { DAY_MS, NUMBER, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();
/** Documented page size of upstream. */
const PAGE_LIMIT = 20;

describe('a read of all pages', () => {
  it('does not forget the order in which upstream lists messages if new messages arrive during the read', async () => {
    const { harness } = here;
    harness.control('settings', { limitCap: 20 });
    const { contactId } = await here.createKnownContact(50);
    const source = here.afterPage(1, () => harness.createMessages(contactId, { count: 3, intervalMs: 10 }));
    await harness.poller(source, 'silent', { sweepMs: 0 }).runDeepRead(ACCOUNT, contactId, 'poll');
    expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.order).toBe('newestFirst');
  });
});

describe('an older message whose page upstream cannot return', () => {
  it('is skipped and counted once; all other messages are read, and the order in which upstream lists messages stays known', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(50);
    harness.control('settings', { failingMessageIds: [ids.at(-26)] });
    const poller = harness.poller(harness.source, 'silent', { sweepMs: 0, pageRetriesMs: [0] });
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      await poller.pollHead(ACCOUNT, contactId);
      expect(await poller.runDeepRead(ACCOUNT, contactId, 'poll')).toBe(true);
      expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.order).toBe('newestFirst');
    }
    const fresh = harness.createMessages(contactId, { count: 2, intervalMs: 10 });
    harness.control('messages/edit', { id: ids[5], message: 'Edited' });
    await poller.poll(ACCOUNT, contactId);
    expect(await here.messageEvents()).toEqual(
      [...received(fresh), `message.updated ${ids[5] ?? ''}`].sort(),
    );
    expect((await harness.store.overview(ACCOUNT)).skipped).toBe(1);
  });

  it('does not prevent the sweeps of a contact with more messages than the largest page contains', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(150);
    harness.control('settings', { failingMessageIds: [ids.at(-121)] });
    const poller = harness.poller(harness.source, 'silent', { sweepMs: 0, pageRetriesMs: [] });
    for (let sweeps = 0; sweeps < 3; sweeps += 1)
      expect(await poller.runDeepRead(ACCOUNT, contactId, 'poll')).toBe(true);
  });
});

describe('a read of older messages', () => {
  it.each([
    ['newestFirst', 45, 'all messages', 30],
    ['newestFirst', 45, 'a flag check', 30],
    // This flag check requests pages of 16 messages, and gives up after the second one.
    ['oldestFirst', 41, 'a flag check', 45],
  ] as const)(
    'gives up if upstream returns none of 20 or more messages in a row (order of messages: %s; %d messages; goal of the read: %s)',
    async (order, count, goal, maxRequests) => {
      const { harness } = here;
      harness.control('settings', { order, limitCap: PAGE_LIMIT });
      const contactId = harness.createContact(NUMBER);
      const timestamp = Date.now() - 3_600_000;
      const ids = harness.createMessages(contactId, {
        ...{ count, timestamp, intervalMs: 1_000, direction: 'outbound' },
      });
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      harness.control('settings', { failingMessageIds: ids });
      harness.store.aheadMs = DAY_MS / 2;
      const before = harness.countRequests(/messages/);
      const sweepMs = goal === 'all messages' ? 0 : DAY_MS;
      const poller = harness.poller(harness.source, 'silent', { sweepMs, pageRetriesMs: [] });
      await expect(poller.runDeepRead(ACCOUNT, contactId, 'poll')).rejects.toThrow(UpstreamStatusError);
      // For each page: each message alone, and the parts that contained the first two.
      expect(harness.countRequests(/messages/) - before).toBeLessThanOrEqual(maxRequests);
    },
  );

  it('finds the changed flag of a message even if upstream returns no message of a later page (pages of five messages, oldest first)', async () => {
    const { harness } = here;
    harness.control('settings', { order: 'oldestFirst', limitCap: 5 });
    const contactId = harness.createContact(NUMBER);
    const timestamp = Date.now() - 3_600_000;
    const ids = harness.createMessages(contactId, {
      ...{ count: 23, timestamp, intervalMs: 1_000, direction: 'outbound' },
    });
    for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
    harness.control('settings', { failingMessageIds: ids.slice(15, 20) });
    harness.control('messages/flags', { id: ids[2], delivered: true });
    harness.store.aheadMs = DAY_MS / 2;
    const poller = harness.poller(harness.source, 'silent', { sweepMs: DAY_MS, pageRetriesMs: [] });
    expect(await poller.runDeepRead(ACCOUNT, contactId, 'poll')).toBe(true);
    expect(await here.messageEvents()).toEqual([`message.delivered ${ids[2] ?? ''}`]);
  });
});

describe('a new message that upstream cannot return, on a page after page 1,', () => {
  it('does not prevent the detection of the other messages of a burst that fills page 1', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(50);
    const fresh = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
    const failing = fresh.at(-25);
    harness.control('settings', { failingMessageIds: [failing] });
    for (let polls = 0; polls < 3; polls += 1) await pollAsWorker(contactId);
    expect(await here.messageEvents()).toEqual(received(fresh.filter((id) => id !== failing)));
    expect((await harness.store.overview(ACCOUNT)).skipped).toBe(1);
  });
});

describe('a message whose page upstream cannot return', () => {
  it.each([4, 8, 11])(
    'does not prevent the detection of changes of other messages if upstream limits pages to 3 messages (index of the failing message among 12, from the newest: %i)',
    async (index) => {
      const { harness } = here;
      harness.control('settings', { limitCap: 3 });
      const { contactId, ids } = await here.createKnownContact(12);
      harness.control('settings', { failingMessageIds: [ids.at(-1 - index)] });
      const edited = ids.filter((_, i) => i !== ids.length - 1 - index);
      for (const id of edited) harness.control('messages/edit', { id, message: 'Edited' });
      const poller = harness.poller(harness.source, 'silent', { sweepMs: 0, pageRetriesMs: [0] });
      await poller.poll(ACCOUNT, contactId);
      expect(await here.messageEvents()).toEqual(edited.map((id) => `message.updated ${id}`).sort());
      expect((await harness.store.overview(ACCOUNT)).skipped).toBe(1);
    },
  );
});

describe('a first page that upstream fails to return', () => {
  /** Polls the contact once. Returns the page limits that the poll requested. */
  async function limitsOfPoll(contactId: string): Promise<number[]> {
    const limits = [20, 10, 5];
    const counted = (): number[] =>
      limits.map((limit) => here.harness.countRequests(new RegExp(`page=1&limit=${limit}$`)));
    const before = counted();
    await here.harness.polls.pollHead(ACCOUNT, contactId);
    const after = counted();
    return limits.flatMap((limit, i) => Array<number>((after[i] ?? 0) - (before[i] ?? 0)).fill(limit));
  }

  it('is requested with the full limit again by the next poll after a single failure, because the cause may not be a message', async () => {
    const { contactId } = await here.createKnownContact(50);
    here.harness.control('faults', { match: { path: '/messages' }, fault: { kind: 'status', status: 500 } });
    expect(await limitsOfPoll(contactId)).toEqual([20, 10]);
    expect(await limitsOfPoll(contactId)).toEqual([20]);
  });

  it('is requested with a smaller limit by later polls if it fails in two polls in a row', async () => {
    const { contactId, ids } = await here.createKnownContact(50);
    here.harness.control('settings', { failingMessageIds: [ids.at(-14)] });
    expect(await limitsOfPoll(contactId)).toEqual([20, 10]);
    expect(await limitsOfPoll(contactId)).toEqual([20, 10]);
    expect(await limitsOfPoll(contactId)).toEqual([10]);
    here.harness.control('settings', { failingMessageIds: [ids.at(-9)] });
    expect(await limitsOfPoll(contactId)).toEqual([10, 5]);
    expect(await limitsOfPoll(contactId)).toEqual([20, 5]);
    expect(await limitsOfPoll(contactId)).toEqual([5]);
  });
});

describe('a new or known message whose page upstream cannot return', () => {
  it.each([45, 3])(
    'does not prevent the detection of later messages at the end of an oldest-first list of %i messages',
    async (count) => {
      const { harness } = here;
      harness.control('settings', { order: 'oldestFirst', limitCap: PAGE_LIMIT });
      const { contactId } = await here.createKnownContact(count);
      const [failing] = harness.createMessages(contactId);
      harness.control('settings', { failingMessageIds: [failing] });
      await pollAsWorker(contactId);
      const fresh = harness.createMessages(contactId, { count: 2, intervalMs: 10 });
      await pollAsWorker(contactId);
      await pollAsWorker(contactId);
      expect(await here.messageEvents()).toEqual(received(fresh));
      expect((await harness.store.overview(ACCOUNT)).skipped).toBe(1);
      // The failing message is known now: a later poll reads the page in parts at once.
      const [later = ''] = harness.createMessages(contactId);
      await harness.polls.poll(ACCOUNT, contactId);
      expect(await here.messageEvents()).toEqual(received([...fresh, later]));
    },
  );

  it.each(['newestFirst', 'oldestFirst'])(
    'does not prevent the detection of other new messages, even if the failing message is the first one on page 1 and timestamps are equal (order of messages: %s)',
    async (order) => {
      const { harness } = here;
      harness.control('settings', { order });
      const contactId = harness.createContact(NUMBER);
      const timestamp = Date.now() - DAY_MS;
      const ids = harness.createMessages(contactId, { count: 6, timestamp });
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      const fresh = harness.createMessages(contactId, { count: 3, timestamp: timestamp + 1 });
      const first = order === 'newestFirst' ? fresh.at(-1) : ids[0];
      harness.control('settings', { failingMessageIds: [first] });
      await pollAsWorker(contactId);
      await pollAsWorker(contactId);
      expect(await here.messageEvents()).toEqual(received(fresh.filter((id) => id !== first)));
    },
  );

  it('causes at most 20 requests per poll, even if upstream fails for every message of the contact', async () => {
    const { harness } = here;
    harness.control('settings', { order: 'oldestFirst' });
    const { contactId, ids } = await here.createKnownContact(45);
    harness.control('settings', { failingMessageIds: ids });
    await pollAsWorker(contactId);
    const before = harness.countRequests(/messages/);
    await pollAsWorker(contactId);
    expect(harness.countRequests(/messages/) - before).toBeLessThanOrEqual(20);
    harness.control('settings', { failingMessageIds: [] });
    await pollAsWorker(contactId);
    expect(await here.messageEvents()).toEqual([]);
    expect((await harness.store.overview(ACCOUNT)).skipped).toBe(0);
  });
});

describe('a message that upstream cannot return, on a page before the last page of an oldest-first list,', () => {
  it('does not cause a read of all pages after each poll', async () => {
    const { harness } = here;
    harness.control('settings', { order: 'oldestFirst', limitCap: PAGE_LIMIT });
    const contactId = harness.createContact(NUMBER);
    const ids = here.createOldMessages(contactId, 45);
    harness.control('settings', { failingMessageIds: [ids[10]] });
    await harness.list.poll(ACCOUNT);
    const poller = harness.poller(harness.source, 'silent', { pageRetriesMs: [] });
    for (let polls = 0; polls < 2; polls += 1) await poller.poll(ACCOUNT, contactId);
    await harness.poller(harness.source, 'silent', { sweepMs: 0 }).poll(ACCOUNT, contactId);
    const before = harness.countRequests(/messages/);
    for (let polls = 0; polls < 3; polls += 1) await poller.poll(ACCOUNT, contactId);
    expect(harness.countRequests(/messages/) - before).toBe(3);
    const fresh = harness.createMessages(contactId, { count: 2, intervalMs: 10 });
    await poller.poll(ACCOUNT, contactId);
    expect(await here.messageEvents()).toEqual(received(fresh));
  });
});

describe('one failed request for the first page of messages', () => {
  it('does not prevent the detection of new messages on the last page, if upstream lists the oldest messages first', async () => {
    const { harness } = here;
    harness.control('settings', { order: 'oldestFirst', limitCap: 2 });
    const contactId = harness.createContact(NUMBER);
    // Equal timestamps: the order, and so the page of new messages, is unknown.
    harness.createMessages(contactId, { count: 6, timestamp: Date.now() - DAY_MS });
    for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
    const fresh = harness.createMessages(contactId, { count: 2, intervalMs: 10 });
    let fails = true;
    const source: FeedSource = {
      ...harness.source,
      listMessages: async (account, contact, page, limit, purpose) => {
        if (page === 1 && limit === PAGE_LIMIT && fails) {
          fails = false;
          throw new UpstreamStatusError(500, 'no such row', undefined);
        }
        return harness.source.listMessages(account, contact, page, limit, purpose);
      },
    };
    await harness
      .poller(source, 'silent', { sweepMs: 0, pageRetriesMs: [] })
      .runDeepRead(ACCOUNT, contactId, 'poll');
    expect(await here.messageEvents()).toEqual(received(fresh));
  });
});

describe('a known message that may have been the unreadable element of earlier reads', () => {
  it('counts as missing as soon as a complete read contains neither the message nor an unreadable element', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    harness.control('faults', {
      match: { contactId },
      fault: { kind: 'poisonMessage', garbage: 'noId', mode: 'replace', position: 2 },
      // The read of the newest messages, and page 1 of the read of older messages.
      times: 2,
    });
    await here.readAll(contactId);
    harness.control('faults/clear');
    harness.control('messages/delete', { id: ids[2] });
    await here.readAllMinutesApart(contactId, 1);
    expect(await here.messageEvents()).toEqual([]);
    await here.readAllMinutesApart(contactId, 1);
    expect(await here.messageEvents()).toEqual([`message.deleted ${ids[2] ?? ''}`]);
  });
});

describe('a read of older messages that is scheduled for later', () => {
  it('is due at once if a read of the newest messages finds that a message has vanished', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(45);
    harness.control('faults', {
      match: { contactId },
      fault: { kind: 'poisonMessage', garbage: 'noId', mode: 'replace', position: 30 },
      times: 1,
    });
    const poller = harness.poller(harness.source, 'silent', { sweepMs: 0 });
    await poller.runDeepRead(ACCOUNT, contactId, 'poll');
    expect(await msUntilDeepRead(contactId)).toBeGreaterThan(20 * 60_000);
    harness.control('messages/delete', { id: ids.at(-5) });
    await harness.polls.pollHead(ACCOUNT, contactId);
    expect(await msUntilDeepRead(contactId)).toBeLessThanOrEqual(0);
  });

  it('because it failed is not repeated earlier if a read of the newest messages requests it again', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(45);
    harness.control('messages/delete', { id: ids.at(-5) });
    await harness.polls.pollHead(ACCOUNT, contactId);
    const queue = new RedisPollQueue(harness.redis, harness.prefix);
    for (let failures = 0; failures < 8; failures += 1)
      await queue.end(ACCOUNT, { kind: 'deep', ...claimOf(contactId) }, 'failed');
    await harness.polls.pollHead(ACCOUNT, contactId);
    expect(await msUntilDeepRead(contactId)).toBeGreaterThan(200_000);
  });
});

describe('the count of failed polls of an account', () => {
  it.each(['unchanged', 'new'])(
    'is deleted by the next poll that can read the first page of a contact (messages on this page: %s)',
    async (messages) => {
      const { harness } = here;
      const { contactId } = await here.createKnownContact(2);
      const other = harness.createContact('+15557654321');
      await harness.sweep();
      // The second read of an unchanged page compares no message.
      await harness.polls.pollHead(ACCOUNT, contactId);
      const facts = accountKeys(harness.prefix, ACCOUNT)('polls', 'facts');
      const failures = (): Promise<string | null> => harness.redis.hget(facts, 'failures');
      harness.control('faults', {
        ...{ match: { contactId: other }, fault: { kind: 'status', status: 500 }, times: 'always' },
      });
      await pollAsWorker(other);
      expect(await failures()).toBe('1');
      if (messages === 'new') harness.createMessages(contactId);
      await harness.polls.pollHead(ACCOUNT, contactId);
      const left = await harness.redis.hkeys(facts);
      expect(left.filter((field) => field.startsWith('fail'))).toEqual([]);
      await pollAsWorker(other);
      expect(await failures()).toBe('1');
    },
  );
});

/** Returns the time until older messages of the contact are read next, in milliseconds. */
async function msUntilDeepRead(contactId: string): Promise<number> {
  const { redis, prefix } = here.harness;
  const dueAt = await redis.zscore(accountKeys(prefix, ACCOUNT)('polls', 'deep'), contactId);
  const [seconds, microseconds] = await redis.time();
  return Number(dueAt ?? NaN) - (Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000));
}

/** Returns the claim of a contact that is not leased. */
function claimOf(contactId: string): Omit<ClaimedPoll, 'kind'> {
  return { contactId, lease: '', overdueMs: 0, consecutiveFailures: 0, isUpstreamAvailable: true };
}

/** Polls a contact. Records the outcome of a failed poll as a worker does. */
async function pollAsWorker(contactId: string): Promise<void> {
  const { harness } = here;
  try {
    await harness.polls.poll(ACCOUNT, contactId);
  } catch (error) {
    if (!(error instanceof UpstreamStatusError)) throw error;
    const queue = new RedisPollQueue(harness.redis, harness.prefix);
    await queue.end(ACCOUNT, { kind: 'head', ...claimOf(contactId) }, 'failed');
  }
}
