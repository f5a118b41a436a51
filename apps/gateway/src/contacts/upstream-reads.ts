import { Inject, Injectable } from '@nestjs/common';
import type { AccountDirectory, Principal } from '#accounts';
import type { GatewayEnvironment } from '#platform';
import {
  type BudgetedUpstream,
  BudgetExhaustedError,
  isMissingPageError,
  parseContactsById,
  requireValidJson,
  normalizeListReply,
  type RequestRateLimiter,
  replyPartToJson,
  type UpstreamQuery,
} from '#upstream';
import { type CallerLimits, CallerSlots, noSlotProblem } from '../auth/caller-slots.js';
import { notFound } from '../problems/problem.js';
import { ACCOUNT_UPSTREAM, ACCOUNTS, ENVIRONMENT, TOKEN_READ_LIMITER } from '../tokens.js';
import { type CachedReply, type CachedRead, ReadCache } from './read-cache.js';

/** The operations of {@link BudgetedUpstream} that callers' reads need. */
export type ReadableUpstream = Pick<BudgetedUpstream, 'readContactsText' | 'readMessagesText'>;

/** A response to a read. */
export interface ReadReply {
  /** JSON text. */
  body: string;
  /** Age of the data in whole seconds. Absent if upstream was asked for this request. */
  age?: number;
}

/** Contact ids that would change the path of the upstream request. */
const RELATIVE = new Set(['.', '..']);

/** Maximum number of simultaneous reads of one account. More reads would only wait for the request budget. */
const MAX_CONCURRENT_READS = 100;
/** Limits of simultaneous reads of callers with tokens. Reads that are answered from the cache count too. */
export const TOKEN_READ_LIMITS: CallerLimits = {
  max: Infinity,
  maxPerAccount: Infinity,
  maxPerAccountForTokens: 40,
  maxPerToken: 10,
};
/** Reads of callers with tokens use at most this part of an account's budget of upstream requests. */
const TOKENS_SHARE_OF_BUDGET = 1 / 2;
/**
 * Maximum time that a read of a caller with a token waits because {@link TOKENS_SHARE_OF_BUDGET} is used up, in
 * milliseconds.
 */
const SHARE_WAIT_MS = 5_000;
/** Value of `Retry-After` if {@link MAX_CONCURRENT_READS} is reached, in milliseconds. */
const FULL_RETRY_MS = 1_000;

/** Who reads. */
type Reader = Pick<Principal, 'account' | 'tokenId'>;

/**
 * Callers' reads of contacts and messages from upstream, within the account's budget. {@link normalizeListReply}
 * adapts the replies. Callers with tokens get only a part of the budget and of the simultaneous reads, because a
 * token may be in the hands of anyone who opens a page.
 */
@Injectable()
export class UpstreamReads {
  private readonly cache: ReadCache;
  private readonly tokenSlots = new CallerSlots(TOKEN_READ_LIMITS);
  private readonly running = new Map<string, number>();
  private readonly byId = new WeakMap<CachedReply, ReadonlyMap<string, unknown>>();

  constructor(
    @Inject(ACCOUNT_UPSTREAM) private readonly upstream: ReadableUpstream,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
    @Inject(TOKEN_READ_LIMITER) private readonly limiter: RequestRateLimiter,
  ) {
    this.cache = new ReadCache(environment.READ_CACHE_MS);
  }

  /** Reads the contact list. @throws {UpstreamError | BudgetExhaustedError} */
  async contacts(reader: Reader, query: UpstreamQuery): Promise<ReadReply> {
    const answer = await this.requestContacts(reader, query);
    const { text } = answer.reply;
    const isAsIs = this.environment.CONTACTS_SHAPE === 'upstream';
    return readReplyOf(answer, isAsIs ? requireValidJson(text) : normalizeListReply(text, 'contacts'));
  }

  /** Reads one contact from the contact list. @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async contact(reader: Reader, contactId: string): Promise<ReadReply> {
    const answer = await this.requestContacts(reader, []);
    const contacts = this.byId.get(answer.reply) ?? parseContactsById(answer.reply.text);
    this.byId.set(answer.reply, contacts);
    const found = contacts.get(contactId);
    if (found === undefined) throw notFound('contact', contactId);
    return readReplyOf(answer, replyPartToJson(found));
  }

  /** Reads a message page of a contact. @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async messages(reader: Reader, contactId: string, query: UpstreamQuery): Promise<ReadReply> {
    if (RELATIVE.has(contactId)) throw notFound('contact', contactId);
    const answer = await this.request(reader, ['messages', contactId, query], async () => {
      try {
        return await this.upstream.readMessagesText(reader.account, contactId, query);
      } catch (error) {
        if (isMissingPageError(error)) throw notFound('contact', contactId);
        throw error;
      }
    });
    return readReplyOf(answer, normalizeListReply(answer.reply.text, 'messages'));
  }

  private requestContacts(reader: Reader, query: UpstreamQuery): Promise<CachedRead> {
    return this.request(reader, ['contacts', query], () =>
      this.upstream.readContactsText(reader.account, query),
    );
  }

  /** @throws {Problem} if the caller's token, or the tokens of its account, have too many reads at the same time */
  private async request(
    reader: Reader,
    what: readonly unknown[],
    request: () => Promise<string>,
  ): Promise<CachedRead> {
    const { account, tokenId } = reader;
    if (tokenId === undefined) return await this.cachedRequest(account, what, request);
    const slot = this.tokenSlots.acquire(reader);
    if (!slot.acquired)
      throw noSlotProblem(slot.reachedLimit, 'simultaneous reads from the messaging service');
    try {
      // Wait before the shared call, not in it: equal reads of callers with API keys share that call, and need not
      // wait for the share of the tokens.
      if (!this.cache.has([account, ...what])) await this.waitForShare(account);
      return await this.cachedRequest(account, what, request);
    } finally {
      slot.release();
    }
  }

  /** @throws {BudgetExhaustedError} if reads of tokens have used up their share of the budget */
  private async waitForShare(account: string): Promise<void> {
    const found = await this.accounts.find(account);
    // The account was removed meanwhile. The read fails with the reason.
    if (found === undefined) return;
    await this.limiter.acquire(account, found.requestsPerSecond * TOKENS_SHARE_OF_BUDGET, SHARE_WAIT_MS);
  }

  private cachedRequest(
    account: string,
    what: readonly unknown[],
    request: () => Promise<string>,
  ): Promise<CachedRead> {
    return this.cache.read([account, ...what], async () => {
      const before = this.running.get(account) ?? 0;
      if (before >= MAX_CONCURRENT_READS) throw new BudgetExhaustedError(FULL_RETRY_MS);
      this.running.set(account, before + 1);
      try {
        return await request();
      } finally {
        const left = (this.running.get(account) ?? 1) - 1;
        if (left === 0) this.running.delete(account);
        else this.running.set(account, left);
      }
    });
  }
}

function readReplyOf({ age }: CachedRead, body: string): ReadReply {
  return age === undefined ? { body } : { body, age };
}
