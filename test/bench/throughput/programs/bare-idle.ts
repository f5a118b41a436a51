// The least that a poller at rest could do: get pages of messages in regular intervals and parse them, with one script
// of Redis before each page, as if it claimed a contact, and one after it, as if it recorded the result.
import { Agent } from 'node:http';
import axios from 'axios';
import { Redis } from 'ioredis';
import { serveRequests } from '../program.js';

/** What to read, and how often. */
export interface BareIdleSettings {
  port: number;
  redisUrl: string;
  contacts: number;
  requestsPerSecond: number;
}

/** Number of pages that were read since the start. */
export interface BareIdleReport {
  pages: number;
}

const CLAIM = "return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')";
const RECORD = "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2]) return 1";

serveRequests(async ({ port, redisUrl, contacts, requestsPerSecond }: BareIdleSettings) => {
  const redis = new Redis(redisUrl);
  await redis.ping();
  redis.defineCommand('claim', { numberOfKeys: 1, lua: CLAIM });
  redis.defineCommand('record', { numberOfKeys: 1, lua: RECORD });
  const commands = redis as unknown as Record<'claim' | 'record', (...args: string[]) => Promise<unknown>>;
  const http = axios.create({
    ...{ baseURL: `http://127.0.0.1:${port}/v1`, httpAgent: new Agent({ keepAlive: true }), proxy: false },
    headers: { 'X-API-Key': 'key-of-the-benchmark', Accept: 'application/json' },
  });
  let [started, pages] = [0, 0];
  const read = async (): Promise<void> => {
    const id = `con_${String(started % contacts).padStart(10, '0')}`;
    started += 1;
    await commands.claim('due');
    const params = { page: 1, limit: 20 };
    const { data } = await http.get<{ messages: object[] }>(`/contacts/${id}/messages`, { params });
    if (data.messages.length === 0) throw new Error('the page is empty');
    await commands.record('due', String(Date.now()), id);
    pages += 1;
  };
  // An error ends the program, and with it the benchmark.
  setInterval(() => void read(), 1_000 / requestsPerSecond);
  return (): BareIdleReport => ({ pages });
});
