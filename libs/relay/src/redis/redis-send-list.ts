import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { laneRedisKeys, MAX_SEND_PAGE_SIZE, readSendIds, sendIndexRedisKeys } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import type { SendFilter, SendList, SendPage, SendsOverview } from '../send/send-list.js';
import { toPublicSendWithLookups } from '../send/send-record.js';
import { SEND_STATUSES, type SendStatus } from '../send/send.js';

const readOverviewScript = LuaScript.from(import.meta.url, 'lua/sends-overview.lua');

/** Lists sends, using the sorted sets that the scripts of the relay update with each change. */
export class RedisSendList implements SendList {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async list(account: string, filter: SendFilter, limit: number, before?: number): Promise<SendPage> {
    const keys = accountKeys(this.prefix, account);
    const { status, reference, phoneNumber } = filter;
    const sets = [
      ...(status === undefined ? [] : [sendIndexRedisKeys.status(keys, status)]),
      ...(reference === undefined ? [] : [sendIndexRedisKeys.reference(keys, reference)]),
      ...(phoneNumber === undefined ? [] : [sendIndexRedisKeys.recipient(keys, phoneNumber)]),
    ];
    const all = [sendIndexRedisKeys.all(keys)];
    const { ids, next } = await readSendIds(
      this.redis,
      keys,
      sets.length === 0 ? all : sets,
      { count: limit, size: MAX_SEND_PAGE_SIZE },
      before,
    );
    const records = await readSendRecords(this.redis, keys, ids);
    return {
      // Leave out sends that no longer match the filter, because their status changed after their ids were read.
      sends: records
        .map(toPublicSendWithLookups)
        .filter((send) => status === undefined || send.status === status),
      ...(next === undefined ? {} : { next }),
    };
  }

  async overview(account: string): Promise<SendsOverview> {
    const keys = accountKeys(this.prefix, account);
    const reply = await readOverviewScript.run(this.redis, {
      statuses: SEND_STATUSES.map((status) => sendIndexRedisKeys.status(keys, status)),
      ...laneRedisKeys(keys),
    });
    const { now, since, deepest, count, due, sizes } = reply as {
      now: string;
      since: string;
      deepest: string;
      count: number;
      due: number;
      sizes: number[];
    };
    const counts = SEND_STATUSES.map((status, i): [SendStatus, number] => [status, sizes[i] ?? 0]);
    return {
      counts: Object.fromEntries(counts) as Record<SendStatus, number>,
      lanes: { count, due, deepest: Number(deepest) },
      oldestQueuedMs: Math.max(Number(now) - Number(since), 0),
    };
  }
}
