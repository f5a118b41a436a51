// A process that reads a contact list of any length, twice, with the product's own build; and says what that took.
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ABSENCE_MS, ContactListPoll, RedisFeedStore } from '#feed';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';
import { HttpUpstream } from '#upstream';

const ACCOUNT = 'default';
const MEGABYTE = 1024 * 1024;

const [redisUrl = '', baseUrl = '', timeoutMs = '10000'] = process.argv.slice(2);
const redis = openRedis(parseRedisAddress(redisUrl), 'failFast', () => undefined);
await once(redis, 'ready');
const upstream = new HttpUpstream(Number(timeoutMs));
const store = new RedisFeedStore(redis, 'tidings');
const source = {
  /** @type {import('#feed').FeedSource['listContacts']} */
  listContacts: (_, __, newReader) => upstream.listContacts({ baseUrl, apiKey: 'k' }, newReader),
  listMessages: () => Promise.reject(new Error('only the list is read')),
};
const poll = new ContactListPoll(store, source, ABSENCE_MS);

/**
 * Reads the list once: how long that took, and for how long it kept the event loop at a time, by the clock and by its own
 * processor time, in which a busy machine does not count.
 */
async function read() {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const began = performance.now();
  const first = cpuMs();
  let last = first;
  let longest = 0;
  const turns = setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  await poll.poll(ACCOUNT);
  clearInterval(turns);
  loop.disable();
  return {
    ms: Math.round(performance.now() - began),
    cpuMs: Math.round(cpuMs() - first),
    longestTurnMs: Math.round(loop.max / 1e6),
    longestTurnCpuMs: Math.round(longest),
    peakMegabytes: Math.round((process.resourceUsage().maxRSS * 1024) / MEGABYTE),
  };
}

/** Of this process, with its garbage collector. */
function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const before = Math.round(process.memoryUsage().rss / MEGABYTE);
const first = await read();
const second = await read();
const { contacts } = await store.overview(ACCOUNT);
console.log(JSON.stringify({ before, first, second, contacts }));
upstream.close();
await closeRedis(redis);
