// Child process that reads a contact list twice with the built product, and prints the time and memory used.
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { MIN_ABSENCE_UNTIL_DELETED_MS, ContactListPoller, RedisFeedStore } from '#feed';
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
  listMessages: () => Promise.reject(new Error('this process only reads the contact list')),
};
const poll = new ContactListPoller(store, source, MIN_ABSENCE_UNTIL_DELETED_MS);

/**
 * Reads the list once. Returns the total time, and the longest time for which the read blocked the event
 * loop: by the clock, and as CPU time, which excludes other load on the machine.
 */
async function read() {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const began = performance.now();
  const first = cpuMs();
  let last = first;
  let longestCpuMs = 0;
  const turns = setInterval(() => {
    const now = cpuMs();
    longestCpuMs = Math.max(longestCpuMs, now - last);
    last = now;
  }, 1);
  await poll.poll(ACCOUNT);
  clearInterval(turns);
  loop.disable();
  return {
    ms: Math.round(performance.now() - began),
    cpuMs: Math.round(cpuMs() - first),
    longestTurnMs: Math.round(loop.max / 1e6),
    longestTurnCpuMs: Math.round(longestCpuMs),
    peakMegabytes: Math.round((process.resourceUsage().maxRSS * 1024) / MEGABYTE),
  };
}

/** Returns the CPU time of this process including garbage collection, in milliseconds. */
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
