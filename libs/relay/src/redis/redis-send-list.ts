import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { laneRedisKeys, MAX_SEND_PAGE_SIZE, readSendIds, sendIndexRedisKeys } from './redis-send-index.js';
import { readSendRecords } from './redis-send-records.js';
import type { SendFilter, SendList, SendPage, SendsOverview } from '../send/send-list.js';
import { toPublicSendWithLookups } from '../send/send-record.js';
import { type Send, SEND_STATUSES, type SendStatus } from '../send/send.js';

const readOverviewScript = LuaScript.from(import.meta.url, 'lua/sends-overview.lua');

/** Number of sends that are read in one step if the filter contains a predicate of the caller (`accepts`). */
const EXAMINED_PER_STEP = 100;
/** Maximum number of steps of {@link EXAMINED_PER_STEP} sends for one page of the result. */
const MAX_STEPS = 5;
/**
 * Maximum length of all texts on a page of the result together, in characters, if the filter contains a predicate of
 * the caller. A single text may be longer.
 */
const MAX_TEXT_LENGTH = 2_000_000;

/** A send with its number in the order in which the account's sends were created. */
interface ListedSend {
  send: Send;
  number: number;
}

/** Lists sends, using the sorted sets that the scripts of the relay update with each change. */
export class RedisSendList implements SendList {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async list(account: string, filter: SendFilter, limit: number, before?: number): Promise<SendPage> {
    const { accepts } = filter;
    if (accepts !== undefined) return await this.listAccepted(account, filter, accepts, limit, before);
    const { listed, next } = await this.page(account, filter, limit, before);
    return { sends: listed.map(({ send }) => send), ...(next === undefined ? {} : { next }) };
  }

  /**
   * Lists sends for which the caller's predicate resolves to true. Continues to read when the page is full, to find
   * out whether another such send follows. Reads at most {@link MAX_STEPS} steps.
   */
  private async listAccepted(
    account: string,
    filter: SendFilter,
    accepts: NonNullable<SendFilter['accepts']>,
    limit: number,
    before: number | undefined,
  ): Promise<SendPage> {
    const accepted: ListedSend[] = [];
    const sends = (): Send[] => accepted.map(({ send }) => send);
    let textLength = 0;
    let next = before;
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const page = await this.page(account, filter, EXAMINED_PER_STEP, next);
      const isAccepted = await Promise.all(page.listed.map(({ send }) => accepts(send)));
      for (const one of page.listed.filter((_, i) => isAccepted[i] === true)) {
        textLength += one.send.message?.length ?? 0;
        const last = accepted.at(-1);
        const isFull = accepted.length === limit || textLength > MAX_TEXT_LENGTH;
        if (last !== undefined && isFull) return { sends: sends(), next: last.number };
        accepted.push(one);
      }
      next = page.next;
      if (next === undefined) return { sends: sends() };
    }
    return { sends: sends(), ...(next === undefined ? {} : { next }) };
  }

  private async page(
    account: string,
    filter: SendFilter,
    limit: number,
    before: number | undefined,
  ): Promise<{ listed: ListedSend[]; next: number | undefined }> {
    const keys = accountKeys(this.prefix, account);
    const { status, reference, phoneNumber } = filter;
    const sets = [
      ...(status === undefined ? [] : [sendIndexRedisKeys.status(keys, status)]),
      ...(reference === undefined ? [] : [sendIndexRedisKeys.reference(keys, reference)]),
      ...(phoneNumber === undefined ? [] : [sendIndexRedisKeys.recipient(keys, phoneNumber)]),
    ];
    const all = [sendIndexRedisKeys.all(keys)];
    const { ids, numbers, next } = await readSendIds(
      this.redis,
      keys,
      sets.length === 0 ? all : sets,
      { count: limit, size: MAX_SEND_PAGE_SIZE },
      before,
    );
    const records = await readSendRecords(this.redis, keys, ids);
    const numberOf = new Map(ids.map((id, i) => [id, numbers[i] ?? 0]));
    const listed = records
      .map(toPublicSendWithLookups)
      // Leave out sends that no longer match the filter, because their status changed after their ids were read.
      .filter((send) => status === undefined || send.status === status)
      .map((send) => ({ send, number: numberOf.get(send.id) ?? 0 }));
    return { listed, next };
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
