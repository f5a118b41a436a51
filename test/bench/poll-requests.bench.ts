// Upstream requests of one poll of an unchanged contact, counted by the simulator that the feed polls over HTTP.
import { once } from 'node:events';
import { ABSENCE_MS, ContactListPoll, type FeedSource, RedisFeedStore } from '#feed';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';
import { HttpUpstream } from '#upstream';
import { createSimulator } from '../../apps/simulator/src/create-simulator.js';
import { withTestRedis } from '../support/redis-server.js';
import { contactPollOf } from './contact-poll.js';
import { exactly, heading } from './figures.js';

const COUNTS = [1, 19, 20, 21, 40, 75];
const ORDERS = ['newestFirst', 'oldestFirst'] as const;
const ACCOUNT = 'default';
const OLD_MS = 7 * 86_400_000;
/** Polls until how the contact is read has been learned, then those that are counted. */
const LEARNING = 3;
const COUNTED = 5;

async function requestsAPoll(url: string, order: (typeof ORDERS)[number], count: number): Promise<number[]> {
  const redis = openRedis(parseRedisAddress(url), 'failFast', () => undefined);
  await once(redis, 'ready');
  const simulator = await createSimulator({ settings: { order } });
  const upstream = new HttpUpstream(10_000);
  try {
    const { baseUrl } = await simulator.listen();
    const address = { baseUrl, apiKey: 'simulator-key' };
    const source: FeedSource = {
      listContacts: (_, __, newReader) => upstream.listContacts(address, newReader),
      listMessages: (_, contactId, page, limit) => upstream.listMessages(address, contactId, page, limit),
    };
    const store = new RedisFeedStore(redis, `bench-${order}-${count}`);
    const { contacts } = simulator.control('contacts', { count: 1 }) as { contacts: { id: string }[] };
    const contactId = contacts[0]?.id ?? '';
    simulator.control('messages', { contactId, count, timestamp: Date.now() - OLD_MS, intervalMs: 1_000 });
    await new ContactListPoll(store, source, ABSENCE_MS).poll(ACCOUNT);
    const polls = contactPollOf(store, source);
    const pageReads = (): number =>
      simulator.ledger
        .read({ kinds: ['request'] })
        .entries.filter((entry) => entry.kind === 'request' && entry.path.includes('/messages')).length;
    for (let n = 0; n < LEARNING; n += 1) await polls.poll(ACCOUNT, contactId);
    const known = (await store.allKnownMessages(ACCOUNT, contactId)).size;
    if (known !== count) throw new Error(`${known} of ${count} messages are known.`);
    const counts: number[] = [];
    for (let n = 0; n < COUNTED; n += 1) {
      const before = pageReads();
      await polls.poll(ACCOUNT, contactId);
      counts.push(pageReads() - before);
    }
    return counts;
  } finally {
    upstream.close();
    await simulator.close();
    await closeRedis(redis);
  }
}

heading(
  `upstream requests of a poll of an unchanged contact, the most of ${COUNTED} polls, counted by the simulator`,
);
await withTestRedis(async ({ url }) => {
  for (const order of ORDERS) {
    for (const count of COUNTS) {
      const counts = await requestsAPoll(url, order, count);
      exactly(1, Math.max(...counts), `${order}, ${count} ${count === 1 ? 'message' : 'messages'}`);
    }
  }
});
