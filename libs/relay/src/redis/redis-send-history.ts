import { accountKeys, type AccountKeys, type RedisClient } from '#platform';
import { readSendsOfMessages } from './redis-message-bindings.js';
import { MAX_SEND_PAGE_SIZE, readSendIds, sendIndexRedisKeys } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import {
  type SendHistory,
  type SendWithTimes,
  type SendWithTimesPage,
  toSendWithTimes,
} from '../send/send-history.js';
import type { SendStatus } from '../send/send.js';

/**
 * Statuses of sends that are not finished and whose message upstream does not show yet. `unknown` is left out,
 * because a send with this status waits for a decision of a caller.
 */
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
    const sets = [sendIndexRedisKeys.recipient(keys, phoneNumber)];
    const limits = { count: limit, size: MAX_SEND_PAGE_SIZE };
    const { ids, next } = await readSendIds(this.redis, keys, sets, limits, before);
    return { sends: await this.timed(keys, ids), ...(next === undefined ? {} : { next }) };
  }

  async pendingTo(account: string, phoneNumber: string, limit: number): Promise<SendWithTimes[]> {
    const keys = accountKeys(this.prefix, account);
    const lists = await Promise.all(
      PENDING.map(async (status) =>
        readSendIds(
          this.redis,
          keys,
          [sendIndexRedisKeys.status(keys, status), sendIndexRedisKeys.recipient(keys, phoneNumber)],
          { count: limit },
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

  private async timed(keys: AccountKeys, ids: readonly string[]): Promise<SendWithTimes[]> {
    return (await readSendRecords(this.redis, keys, ids)).map(toSendWithTimes);
  }
}
