// Counts the upstream requests of one poll of a contact: of an unchanged contact, with one new message, and
// with more new messages than fit on a page. The feed polls a simulator over HTTP, which counts. Reads of older
// messages are not counted.
import { once } from 'node:events';
import {
  MIN_ABSENCE_UNTIL_DELETED_MS,
  ContactListPoller,
  type ContactPoller,
  type FeedSource,
  RedisFeedStore,
} from '#feed';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { HttpUpstream } from '#upstream';
import { createSimulator, type Simulator } from '../../apps/simulator/src/create-simulator.js';
import { withTestRedis } from '../support/redis-server.js';
import { contactPollOf } from './contact-poll.js';
import { atMost, exactly, heading, information } from './figures.js';

/** `random`: every read has another order, so that the feed never learns an order. */
const ORDERS = ['newestFirst', 'oldestFirst', 'random'] as const;
type Order = (typeof ORDERS)[number];

const COUNTS = [1, 19, 20, 21, 40, 75];
const ACCOUNT = 'default';
const OLD_MS = 7 * 86_400_000;
/** Number of polls before counting, so that the feed learns how to read the contact. */
const LEARNING = 3;
const COUNTED = 5;
/**
 * Number of messages of another contact of the account. From its pages, the account knows its maximum page
 * length.
 */
const NEIGHBOUR = 40;
/** Number of new messages that fit on two pages, but not on one. */
const BURST = 25;

/** A contact that the feed has read until the way of reading no longer changes. */
class LearnedContact {
  private at = Date.now() - 3_600_000;

  private constructor(
    private readonly simulator: Simulator,
    private readonly store: RedisFeedStore,
    private readonly polls: ContactPoller,
    private readonly contactId: string,
    private known: number,
  ) {}

  static async run(
    redis: RedisClient,
    order: Order,
    count: number,
    neighbour: number,
    body: (contact: LearnedContact) => Promise<void>,
  ): Promise<void> {
    const simulator = await createSimulator({ settings: { order } });
    const upstream = new HttpUpstream(10_000);
    try {
      const { baseUrl } = await simulator.listen();
      const address = { baseUrl, apiKey: 'simulator-key' };
      const source: FeedSource = {
        listContacts: (_, __, newReader) => upstream.listContacts(address, newReader),
        listMessages: (_, contactId, page, limit) => upstream.listMessages(address, contactId, page, limit),
      };
      const store = new RedisFeedStore(redis, `bench-${order}-${count}-${neighbour}`);
      const { contacts } = simulator.control('contacts', { count: 2 }) as { contacts: { id: string }[] };
      const [contactId = '', other = ''] = contacts.map(({ id }) => id);
      const old = { timestamp: Date.now() - OLD_MS, intervalMs: 1_000 };
      simulator.control('messages', { ...old, contactId, count });
      await new ContactListPoller(store, source, MIN_ABSENCE_UNTIL_DELETED_MS).poll(ACCOUNT);
      const polls = contactPollOf(store, source);
      if (neighbour > 0) {
        simulator.control('messages', { ...old, contactId: other, count: neighbour });
        await polls.poll(ACCOUNT, other);
      }
      const contact = new LearnedContact(simulator, store, polls, contactId, count);
      for (let n = 0; n < LEARNING; n += 1) await contact.poll();
      await contact.check();
      await body(contact);
    } finally {
      upstream.close();
      await simulator.close();
    }
  }

  /** Adds new messages, polls once, and returns the number of requests. */
  async poll(fresh = 0): Promise<number> {
    if (fresh > 0)
      this.simulator.control('messages', { ...this.next(), contactId: this.contactId, count: fresh });
    this.known += fresh;
    const before = this.pageReads();
    await this.polls.poll(ACCOUNT, this.contactId);
    return this.pageReads() - before;
  }

  /**
   * Returns the maximum number of requests of several polls, each after new messages. Checks that each poll
   * found all messages.
   */
  async maxOf(polls: number, fresh: number): Promise<number> {
    let max = 0;
    for (let n = 0; n < polls; n += 1) {
      max = Math.max(max, await this.poll(fresh));
      await this.check();
    }
    return max;
  }

  /** Returns timestamps that are newer than those of all earlier messages. */
  private next(): { timestamp: number; intervalMs: number } {
    this.at += 1_000;
    return { timestamp: this.at, intervalMs: 1 };
  }

  private async check(): Promise<void> {
    let { size } = await this.store.allKnownMessages(ACCOUNT, this.contactId);
    // With a shuffled list, one read may miss a message. The next reads find the message.
    for (let n = 0; n < LEARNING && size !== this.known; n += 1) {
      await this.polls.poll(ACCOUNT, this.contactId);
      ({ size } = await this.store.allKnownMessages(ACCOUNT, this.contactId));
    }
    if (size !== this.known) throw new Error(`${size} of ${this.known} messages are known.`);
  }

  private pageReads(): number {
    return this.simulator.ledger
      .read({ kinds: ['request'] })
      .entries.filter((entry) => entry.kind === 'request' && entry.path.includes('/messages')).length;
  }
}

const named = (order: Order, count: number): string =>
  `${order}, ${count} ${count === 1 ? 'message' : 'messages'}`;

heading(`upstream requests of a poll, the most of ${COUNTED} polls, counted by the simulator`);
await withTestRedis(async ({ url }) => {
  const redis = openRedis(parseRedisAddress(url), 'failFast', () => undefined);
  await once(redis, 'ready');
  try {
    for (const order of ORDERS) {
      for (const count of COUNTS) {
        await LearnedContact.run(redis, order, count, NEIGHBOUR, async (contact) => {
          exactly(1, await contact.maxOf(COUNTED, 0), `${named(order, count)}, unchanged`);
          const one = await contact.maxOf(COUNTED, 1);
          // The order of a single message is unknown.
          atMost(order === 'newestFirst' && count > 1 ? 1 : 2, one, `${named(order, count)}, one new`);
          const burst = await contact.maxOf(1, BURST);
          // Two pages with new messages, and one repeated read of the first page.
          const what = `${named(order, count + COUNTED)}, ${BURST} new`;
          if (order === 'newestFirst') atMost(3, burst, what);
          else information(`  ${what}: ${burst}`);
        });
      }
    }
  } finally {
    await closeRedis(redis);
  }
});
