import { accountKeys, type RedisClient, RedisScript } from '#platform';
import { laneKeys, sendIndex } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import type { SendFilter, SendList, SendPage, SendsOverview } from '../send/send-list.js';
import { toSend } from '../send/send-record.js';
import { SEND_STATUSES, type SendStatus } from '../send/send.js';

/** So many sends are looked at for one page at most; where few of them match, the page is short. */
const MOST_EXAMINED = 2_000;

/**
 * KEYS: the sets that a send must be in. ARGV: the place before which to begin or '', how many are wanted, how many are
 * looked at at most. Walks down the smallest set. Answers the place from which to go on, or '' at the end, then the ids.
 */
const listSends = new RedisScript(`
local smallest, size = 1, -1
for i, key in ipairs(KEYS) do
  local count = redis.call('ZCARD', key)
  if size < 0 or count < size then smallest, size = i, count end
end
local function matches(id)
  for i, key in ipairs(KEYS) do
    if i ~= smallest and not redis.call('ZSCORE', key, id) then return false end
  end
  return true
end
local max = ARGV[1] == '' and '+inf' or '(' .. ARGV[1]
local reply, examined, last = {''}, 0, ''
while examined < tonumber(ARGV[3]) do
  local batch = redis.call('ZREVRANGEBYSCORE', KEYS[smallest], max, '-inf', 'WITHSCORES', 'LIMIT', 0, 200)
  if #batch == 0 then return reply end
  for i = 1, #batch, 2 do
    if matches(batch[i]) then
      if #reply > tonumber(ARGV[2]) then
        reply[1] = last
        return reply
      end
      reply[#reply + 1] = batch[i]
    end
    last = batch[i + 1]
  end
  examined = examined + #batch / 2
  max = '(' .. last
end
reply[1] = last
return reply
`);

/** KEYS: lanes due, since, depths, then each status' set. Answers time, first since, deepest, lanes, due, the counts. */
const readOverview = new RedisScript(`
local time = redis.call('TIME')
local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local deepest = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')
local reply = {
  now, first[2] or now, deepest[2] or '0',
  redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[1], '-inf', now)
}
for i = 4, #KEYS do reply[#reply + 1] = redis.call('ZCARD', KEYS[i]) end
return reply
`);

/** {@link SendList} on the sets that the relay's scripts keep. */
export class RedisSendList implements SendList {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async list(account: string, filter: SendFilter, limit: number, before?: number): Promise<SendPage> {
    const keys = accountKeys(this.prefix, account);
    const { status, reference, phoneNumber } = filter;
    const sets = [
      ...(status === undefined ? [] : [sendIndex.status(keys, status)]),
      ...(reference === undefined ? [] : [sendIndex.reference(keys, reference)]),
      ...(phoneNumber === undefined ? [] : [sendIndex.recipient(keys, phoneNumber)]),
    ];
    const reply = await listSends.run(this.redis, sets.length === 0 ? [sendIndex.all(keys)] : sets, [
      before ?? '',
      limit,
      MOST_EXAMINED,
    ]);
    const [next = '', ...ids] = reply as string[];
    const records = await readSendRecords(this.redis, keys, ids);
    return {
      // One that changed since must not be shown as what it is not.
      sends: records.map(toSend).filter((send) => status === undefined || send.status === status),
      ...(next === '' ? {} : { next: Number(next) }),
    };
  }

  async overview(account: string): Promise<SendsOverview> {
    const keys = accountKeys(this.prefix, account);
    const reply = await readOverview.run(
      this.redis,
      [...laneKeys(keys), ...SEND_STATUSES.map((status) => sendIndex.status(keys, status))],
      [],
    );
    const [now = 0, since = 0, deepest = 0, count = 0, due = 0, ...sizes] = (
      reply as (string | number)[]
    ).map(Number);
    const counts = SEND_STATUSES.map((status, i): [SendStatus, number] => [status, sizes[i] ?? 0]);
    return {
      counts: Object.fromEntries(counts) as Record<SendStatus, number>,
      lanes: { count, due, deepest },
      oldestQueuedMs: Math.max(now - since, 0),
    };
  }
}
