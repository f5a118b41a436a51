import { accountKeys, type AccountKeys, LuaScript, type RedisClient } from '#platform';
import { readSendsOfMessages } from './redis-message-bindings.js';
import { sendIndexRedisKeys } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import {
  type SendHistory,
  type SendWithTimes,
  type SendWithTimesPage,
  toSendWithTimes,
} from '../send/send-history.js';
import type { SendStatus } from '../send/send.js';

const listSendsScript = LuaScript.from(import.meta.url, 'lua/list-sends.lua');

/** Maximum number of sends that are examined for one page. */
const MAX_EXAMINED = 2_000;

/** Statuses of sends whose message upstream does not show yet. */
const PENDING: readonly SendStatus[] = ['scheduled', 'queued', 'relaying', 'accepted'];

/** Implements {@link SendHistory} with the indexes that the scripts of the relay update. */
export class RedisSendHistory implements SendHistory {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async sendsTo(
    account: string,
    phoneNumber: string,
    limit: number,
    before?: number,
  ): Promise<SendWithTimesPage> {
    const keys = accountKeys(this.prefix, account);
    const { ids, next } = await this.list([sendIndexRedisKeys.recipient(keys, phoneNumber)], limit, before);
    return { sends: await this.timed(keys, ids), ...(next === undefined ? {} : { next }) };
  }

  async pendingTo(account: string, phoneNumber: string, limit: number): Promise<SendWithTimes[]> {
    const keys = accountKeys(this.prefix, account);
    const lists = await Promise.all(
      PENDING.map(async (status) =>
        this.list(
          [sendIndexRedisKeys.status(keys, status), sendIndexRedisKeys.recipient(keys, phoneNumber)],
          limit,
        ),
      ),
    );
    return this.timed(keys, [...new Set(lists.flatMap(({ ids }) => ids))]);
  }

  async sendIdsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<Map<string, string>> {
    const keys = accountKeys(this.prefix, account);
    const bound = await readSendsOfMessages(this.redis, keys, contactId, messageIds);
    return new Map([...bound].map(([messageId, { sendId }]) => [messageId, sendId]));
  }

  async byIds(account: string, ids: readonly string[]): Promise<SendWithTimes[]> {
    return this.timed(accountKeys(this.prefix, account), ids);
  }

  private async list(
    sets: readonly string[],
    limit: number,
    before?: number,
  ): Promise<{ ids: string[]; next?: number }> {
    const reply = await listSendsScript.run(
      this.redis,
      { sets },
      { before: before ?? '', limit, maxExamined: MAX_EXAMINED },
    );
    const { next, ids } = reply as { next: string; ids: string[] };
    return { ids, ...(next === '' ? {} : { next: Number(next) }) };
  }

  private async timed(keys: AccountKeys, ids: readonly string[]): Promise<SendWithTimes[]> {
    return (await readSendRecords(this.redis, keys, ids)).map(toSendWithTimes);
  }
}
