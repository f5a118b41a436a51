import { describe, expect, it } from '@jest/globals';
import {
  CONTACT_ID,
  FakeAccount,
  type FakeListing,
  fakeMessage,
  PHONE_NUMBER,
  seededRandom,
} from './fixtures/fake-account.js';
import { comparePositions, type Position } from '../position.js';
import type { TimelineMessage, TimelineSend } from './ports.js';
import { MAX_REQUESTS_PER_TIMELINE_PAGE, Timeline } from './timeline.js';
import { parseTimelineCursor } from './timeline-cursor.js';

const MESSAGES = 5_000;
const SEEDS = process.env['TIDINGS_LONG'] === '1' ? 50 : 9;
const CONVERSATION = { id: CONTACT_ID, contactId: CONTACT_ID, phoneNumbers: [PHONE_NUMBER], last: undefined };

/** Numbers of changes that happen while a caller reads all pages. */
interface Changes {
  inserts: number;
  deletions: number;
  binds: number;
}

/** A caller that reads all pages, from the newest entry to the oldest. */
class Paging {
  readonly account: FakeAccount;
  /** Ids of the entries that exist throughout. A message and its send are one entry. */
  readonly throughout = new Set<string>();
  readonly shown: string[] = [];
  readonly faults: string[] = [];
  calls = 0;
  private readonly random: () => number;
  /** Probability of a change between two reads. */
  private readonly rate: number;
  private readonly changes: (() => void)[] = [];
  private readonly sends: TimelineSend<{ id: string }>[] = [];

  constructor(
    private readonly seed: number,
    listing: FakeListing,
    changes: Changes,
    private readonly limit = 20,
    /** Number of consecutive unreadable elements in upstream's list. */
    unreadable = 0,
  ) {
    this.random = seededRandom(seed);
    this.rate = [0.02, 0.1, 0.8][seed % 3] ?? 0;
    this.account = new FakeAccount(listing);
    this.populate();
    if (unreadable > 0) this.hide(unreadable);
    this.plan(changes);
  }

  private populate(): void {
    const { account } = this;
    let at = account.now - MESSAGES * 60_000;
    const messages: TimelineMessage[] = [];
    for (let i = 0; i < MESSAGES; i += 1) {
      // Some messages have equal timestamps.
      at += this.random() < 0.1 ? 0 : Math.floor(this.random() * 100_000);
      const one = fakeMessage(`m${this.random().toString(36).slice(2, 8)}-${i}`, at);
      messages.push(one);
      account.known.set(one.id, 'present');
      if (this.random() < 0.1) {
        const send = account.send(`snd_${i}`, { createdAt: at - 3_000 });
        account.bind(send, one.id, this.random() < 0.5 ? -1 : at);
        this.throughout.add(send.id);
      } else this.throughout.add(one.id);
      if (this.random() < 0.01) {
        account.send(`snd_failed${i}`, { createdAt: at + 1, status: 'failed' });
        this.throughout.add(`snd_failed${i}`);
      }
      if (i > 0 && this.random() < 0.002) {
        this.sends.push(account.send(`snd_unbound${i}`, { createdAt: at + 2, status: 'unknown' }));
        this.throughout.add(`snd_unbound${i}`);
      }
    }
    account.now = at + 60_000;
    const sendAt = account.now + 3_600_000;
    for (let i = 0; i < 30; i += 1) {
      account.send(`snd_scheduled${i}`, { createdAt: at - 9_000, sendAt: sendAt + i, status: 'scheduled' });
      this.throughout.add(`snd_scheduled${i}`);
    }
    this.sends.push(account.send('snd_last', { createdAt: account.now - 5_000 }));
    this.throughout.add('snd_last');
    account.allSends.sort((a, b) => a.createdAt - b.createdAt);
    const { order } = account.listing;
    if (order === 'newestFirst') messages.reverse();
    if (order === 'unsorted') messages.sort(() => this.random() - 0.5);
    account.list = messages;
    account.length = messages.length;
  }

  private hide(count: number): void {
    const { account } = this;
    const start = Math.floor(this.random() * account.list.length);
    for (const { id } of account.list.slice(start, start + count)) {
      account.unreadable.add(id);
      account.known.delete(id);
      this.throughout.delete(id);
      this.throughout.delete(account.claims.get(id) ?? '');
    }
  }

  private plan({ inserts, deletions, binds }: Changes): void {
    const { account, random } = this;
    for (let i = 0; i < inserts; i += 1)
      this.changes.push(() => {
        const fresh = fakeMessage(`new${i}`, account.now);
        account.insert(fresh, random);
        if (random() < 0.7) account.commit(fresh);
      });
    for (let i = 0; i < deletions; i += 1)
      this.changes.push(() => {
        // Deletions among the messages that were just read move other messages from page to page.
        const end = random() < 0.5 ? account.list.length : Math.min(account.list.length, account.lastEnd);
        const [gone] = account.list.splice(Math.floor(random() * end), 1);
        if (gone === undefined) return;
        this.throughout.delete(gone.id);
        this.throughout.delete(account.claims.get(gone.id) ?? '');
        if (random() < 0.5) account.commitDeletion(gone.id);
      });
    const unbound = [...this.sends].sort(() => random() - 0.5);
    for (const send of [...unbound.slice(0, Math.max(binds - 1, 0)), ...this.sends.slice(-1)].slice(0, binds))
      this.changes.push(() => {
        if (send.message !== undefined) return;
        // Upstream lists the message at its time: a moment after the send, or just now.
        const late = fakeMessage(`of-${send.id}`, random() < 0.5 ? send.createdAt + 1_500 : account.now);
        this.insertAtItsTime(late);
        const commit = (): void => {
          account.commit(late);
        };
        this.changes.push(() => {
          account.bind(send, late.id);
          if (random() < 0.5) commit();
          else this.changes.push(commit);
        });
      });
    for (let i = this.changes.length - 1; i > 0; i -= 1) {
      const j = Math.floor(random() * (i + 1));
      [this.changes[i], this.changes[j]] = [this.changes[j], this.changes[i]] as [() => void, () => void];
    }
    let reads = 0;
    const first = Math.floor(random() * 500);
    account.between = () => {
      account.now += 50;
      reads += 1;
      if (reads < first) return;
      while (this.changes.length > 0 && random() < this.rate) {
        // A change that the previous change made possible comes next. All other changes are in random order.
        this.changes.pop()?.();
      }
    };
  }

  private insertAtItsTime(late: TimelineMessage): void {
    const { list, listing } = this.account;
    const at = late.timestamp ?? 0;
    const isAfter = (one: TimelineMessage): boolean =>
      listing.order === 'newestFirst' ? (one.timestamp ?? 0) <= at : (one.timestamp ?? 0) > at;
    const index = listing.order === 'unsorted' ? 0 : list.findIndex(isAfter);
    list.splice(index < 0 ? list.length : index, 0, late);
  }

  async run(): Promise<void> {
    const timeline = new Timeline(this.account);
    let cursor: string | undefined;
    let previous: Position | undefined;
    do {
      const before = this.account.requests;
      const page = await timeline.read('a', CONVERSATION, this.limit, parseTimelineCursor(cursor));
      this.calls += 1;
      if (this.account.requests - before > MAX_REQUESTS_PER_TIMELINE_PAGE)
        this.faults.push('too many requests');
      if (page.next !== undefined && page.next === cursor) this.faults.push('the cursor stands still');
      if (page.entries.length > this.limit) this.faults.push('too many entries');
      for (const entry of page.entries) {
        if (previous !== undefined && comparePositions(entry.position, previous) >= 0)
          this.faults.push(`${String(entry.position.id)} is not older than the entry before`);
        previous = entry.position;
        this.shown.push(
          entry.kind === 'send' ? entry.send.id : (entry.send?.id ?? String(entry.message['id'])),
        );
      }
      cursor = page.next;
    } while (cursor !== undefined && this.calls < 20_000);
    const counts = new Map<string, number>();
    for (const id of this.shown) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const [id, count] of counts) if (count > 1) this.faults.push(`${id} came ${count} times`);
    for (const id of this.throughout) if (!counts.has(id)) this.faults.push(`${id} did not come`);
    if (this.faults.length > 0) this.faults.unshift(`seed ${this.seed}`);
  }
}

const HISTORY = { inserts: 50, deletions: 10, binds: 3 };

describe('A read of all timeline pages returns each entry that exists throughout the read exactly once, with at most five upstream requests per page', () => {
  const listings: [string, FakeListing][] = [
    ['the newest first, pages of 20', { order: 'newestFirst', maxLimit: 20 }],
    ['the newest first, pages of 100', { order: 'newestFirst', maxLimit: 100 }],
    ['the newest first, pages of 9', { order: 'newestFirst', maxLimit: 9 }],
    ['the oldest first, pages of 20', { order: 'oldestFirst', maxLimit: 20 }],
    ['the oldest first, pages of 100', { order: 'oldestFirst', maxLimit: 100 }],
    ['in no order, pages of 100', { order: 'unsorted', maxLimit: 100 }],
    ['in no order, pages of 20', { order: 'unsorted', maxLimit: 20 }],
  ];
  it.each(listings)('if upstream lists %s', async (_, listing) => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const paging = new Paging(seed, listing, HISTORY, 1 + ((seed * 37) % 100));
      await paging.run();
      expect(paging.faults.slice(0, 5)).toEqual([]);
    }
  });

  it.each([
    [20, 'newestFirst'],
    [20, 'oldestFirst'],
    [60, 'newestFirst'],
    [60, 'oldestFirst'],
    [60, 'unsorted'],
  ] as const)(
    'if %d consecutive elements of the list are unreadable, and the list is %s',
    async (unreadable, order) => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const paging = new Paging(seed, { order, maxLimit: 20 }, HISTORY, 20, unreadable);
        await paging.run();
        expect(paging.faults.slice(0, 5)).toEqual([]);
      }
    },
  );

  it.each([
    ['newestFirst', { inserts: 50, deletions: 0, binds: 1 }],
    ['newestFirst', { inserts: 0, deletions: 10, binds: 0 }],
    ['oldestFirst', { inserts: 50, deletions: 10, binds: 0 }],
  ] as const)(
    'if upstream ignores the requested limit, lists messages in the order %s, and these changes happen: %j',
    async (order, changes) => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const paging = new Paging(seed, { order, maxLimit: 20, ignoresLimit: true }, changes);
        await paging.run();
        expect(paging.faults.slice(0, 5)).toEqual([]);
      }
    },
  );
});
