import { describe, expect, it } from '@jest/globals';
import type { ClaimedRead, ContactPoller, FeedSource } from '#feed';
import { accountKeys } from '#platform';
import { ACCOUNT } from './feed-harness.js';
import { DAY_MS, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

describe('a read of a contact', () => {
  /** Returns a poller that counts the pages that it does not compare. */
  const counting = (): { polls: ContactPoller; unchanged: () => number } => {
    let count = 0;
    const source: FeedSource = {
      ...here.harness.source,
      listMessages: async (...parameters) => {
        const page = await here.harness.source.listMessages(...parameters);
        if (page.isUnchanged === true) count += 1;
        return page;
      },
    };
    return { polls: here.harness.poller(source), unchanged: () => count };
  };

  it('compares no message if the page is the same as at the last read, and still schedules the next read', async () => {
    const { contactId } = await here.createKnownContact(5);
    const { polls, unchanged } = counting();
    const before = await here.harness.store.contactState(ACCOUNT, contactId);
    for (let reads = 1; reads <= 3; reads += 1) {
      expect(await polls.pollHead(ACCOUNT, contactId)).toBe(true);
      expect(unchanged()).toBe(reads);
    }
    const after = await here.harness.store.contactState(ACCOUNT, contactId);
    expect({ ...after, now: 0, receivedAt: 0, extension: 0 }).toEqual({
      ...before,
      now: 0,
      receivedAt: 0,
      extension: 0,
      messagesShownAt: after?.messagesShownAt,
    });
    expect(after?.extension.readAt).toBeGreaterThan(before?.extension.readAt ?? Infinity);
    const due = await here.harness.redis.zscore(
      accountKeys(here.harness.prefix, ACCOUNT)('polls', 'due'),
      contactId,
    );
    expect(Number(due)).toBeGreaterThan(after?.extension.readAt ?? Infinity);
  });

  it('compares the messages if the page or the stored state of the contact changed since the last read', async () => {
    const { contactId, ids } = await here.createKnownContact(5);
    const { polls, unchanged } = counting();
    await polls.pollHead(ACCOUNT, contactId);
    expect(unchanged()).toBe(1);
    const [id = ''] = here.harness.createMessages(contactId, { count: 1 });
    await polls.pollHead(ACCOUNT, contactId);
    // The first read after the change stores it, the second one finds nothing new.
    await polls.pollHead(ACCOUNT, contactId);
    expect(unchanged()).toBe(1);
    await polls.pollHead(ACCOUNT, contactId);
    expect(unchanged()).toBe(2);
    expect(await here.messageEvents()).toEqual(received([id]));
    await here.harness.store.expeditePoll(ACCOUNT, contactId, 0);
    await polls.pollHead(ACCOUNT, contactId);
    expect(unchanged()).toBe(2);
    await here.harness.redis.del(accountKeys(here.harness.prefix, ACCOUNT)('m', contactId));
    await polls.poll(ACCOUNT, contactId);
    expect((await here.harness.deliveredEvents()).map(({ type }) => type)).toContain('contact.resynced');
    expect(ids).toHaveLength(5);
  });

  it('emits message.received for a new message even if upstream deletes the message right after the first page was read', async () => {
    const { harness } = here;
    // The order of a list without messages is unknown.
    const { contactId } = await here.createKnownContact(0);
    const before = await harness.store.contactState(ACCOUNT, contactId);
    expect(before?.extension.unchangedPage?.version).toBe(before?.version);
    // Upstream honours a large limit for another contact, and is from then on expected to honour it for this one.
    const other = harness.createContact('+15557654321');
    harness.createMessages(other, { count: 60, timestamp: Date.now() - DAY_MS, intervalMs: 10 });
    await harness.list.poll(ACCOUNT);
    await harness.polls.poll(ACCOUNT, other);
    const ids = harness.createMessages(contactId, { count: 2 });
    const source = here.afterPage(1, () => {
      harness.control('messages/delete', { id: ids.at(-1) });
    });
    await harness.poller(source).pollHead(ACCOUNT, contactId);
    expect(await here.messageEvents()).toEqual(expect.arrayContaining(received(ids)));
  });

  it('that finds the same page as the last read stops the renewal of its lease before the commit that ends the claim', async () => {
    const { contactId } = await here.createKnownContact(5);
    const read: ClaimedRead = {
      ...{ kind: 'head', availableForPolls: 10, lease: 'one', isLeaseRenewed: true },
      ...{ signal: new AbortController().signal, isUpstreamAvailable: true },
    };
    const renewedAtCommit: boolean[] = [];
    const { store } = here.harness;
    const commit = store.commitUnchangedPoll.bind(store);
    store.commitUnchangedPoll = (...parameters) => {
      renewedAtCommit.push(read.isLeaseRenewed);
      return commit(...parameters);
    };
    expect(await here.harness.polls.pollHead(ACCOUNT, contactId, read)).toBe(true);
    expect(renewedAtCommit).toEqual([false]);
    expect(read.isLeaseRenewed).toBe(false);
  });

  it('that finds the same page as the last read is not committed if another read of the contact was committed, or Redis restarted, meanwhile', async () => {
    const { contactId } = await here.createKnownContact(5);
    const state = await here.harness.store.contactState(ACCOUNT, contactId);
    const commit = (version: number, redisRun: string): Promise<unknown> =>
      here.harness.store.commitUnchangedPoll(ACCOUNT, contactId, {
        ...{ version, redisRun, extension: {}, bucket: 0, dueInMs: 1_000, showsMessages: true },
        report: { startedAt: state?.now ?? 0, arrivals: [], interval: { min: 50, max: 60_000 } },
      });
    const [version, run] = [state?.version ?? 0, state?.redisRun ?? ''];
    const replies = await Promise.all([
      commit(version - 1, run),
      commit(version, 'another run'),
      commit(version, run),
    ]);
    expect(replies).toEqual([
      undefined,
      undefined,
      expect.objectContaining({ nextDueInMs: expect.any(Number) }),
    ]);
  });
});
