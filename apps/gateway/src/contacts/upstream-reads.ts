import { Inject, Injectable } from '@nestjs/common';
import type { GatewayEnvironment } from '#platform';
import {
  type BudgetedUpstream,
  BudgetExhaustedError,
  isMissingPageError,
  parseContactsById,
  requireValidJson,
  normalizeListReply,
  replyPartToJson,
  type UpstreamQuery,
} from '#upstream';
import { notFound } from '../problems/problem.js';
import { ACCOUNT_UPSTREAM, ENVIRONMENT } from '../tokens.js';
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
/** Value of `Retry-After` above that number, in milliseconds. */
const FULL_RETRY_MS = 1_000;

/** Callers' reads of contacts and messages from upstream, within the account's budget. {@link normalizeListReply} adapts the replies. */
@Injectable()
export class UpstreamReads {
  private readonly cache: ReadCache;
  private readonly running = new Map<string, number>();
  private readonly byId = new WeakMap<CachedReply, ReadonlyMap<string, unknown>>();

  constructor(
    @Inject(ACCOUNT_UPSTREAM) private readonly upstream: ReadableUpstream,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
  ) {
    this.cache = new ReadCache(environment.READ_CACHE_MS);
  }

  /** Reads the contact list. @throws {UpstreamError | BudgetExhaustedError} */
  async contacts(account: string, query: UpstreamQuery): Promise<ReadReply> {
    const answer = await this.requestContacts(account, query);
    const { text } = answer.reply;
    const isAsIs = this.environment.CONTACTS_SHAPE === 'upstream';
    return readReplyOf(answer, isAsIs ? requireValidJson(text) : normalizeListReply(text, 'contacts'));
  }

  /** Reads one contact from the contact list. @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async contact(account: string, contactId: string): Promise<ReadReply> {
    const answer = await this.requestContacts(account, []);
    const contacts = this.byId.get(answer.reply) ?? parseContactsById(answer.reply.text);
    this.byId.set(answer.reply, contacts);
    const found = contacts.get(contactId);
    if (found === undefined) throw notFound('contact', contactId);
    return readReplyOf(answer, replyPartToJson(found));
  }

  /** Reads a message page of a contact. @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async messages(account: string, contactId: string, query: UpstreamQuery): Promise<ReadReply> {
    if (RELATIVE.has(contactId)) throw notFound('contact', contactId);
    const answer = await this.request(account, ['messages', contactId, query], async () => {
      try {
        return await this.upstream.readMessagesText(account, contactId, query);
      } catch (error) {
        if (isMissingPageError(error)) throw notFound('contact', contactId);
        throw error;
      }
    });
    return readReplyOf(answer, normalizeListReply(answer.reply.text, 'messages'));
  }

  private requestContacts(account: string, query: UpstreamQuery): Promise<CachedRead> {
    return this.request(account, ['contacts', query], () => this.upstream.readContactsText(account, query));
  }

  private request(
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
