import { Inject, Injectable } from '@nestjs/common';
import type { GatewayEnvironment } from '#platform';
import {
  type AccountUpstream,
  BudgetExhaustedError,
  contactsShown,
  showAsIs,
  showList,
  toJson,
  type UpstreamQuery,
  UpstreamStatusError,
} from '#upstream';
import { notFound } from '../problems/problem.js';
import { ACCOUNT_UPSTREAM, ENVIRONMENT } from '../tokens.js';
import { type KeptReply, type ReadAnswer, ReadCache } from './read-cache.js';

/** What callers' reads need of an account's upstream. */
export type ShownUpstream = Pick<AccountUpstream, 'showContacts' | 'showMessages'>;

/** Something to be shown to a caller. */
export interface Shown {
  /** JSON text. */
  body: string;
  /** Whole seconds since upstream said so, if it was not asked now. */
  age?: number;
}

/** Addresses that would mean another place upstream. */
const RELATIVE = new Set(['.', '..']);

/** So many reads of one account are made at the same time; a budget has no use for more that wait. */
const MOST_AT_ONCE = 100;
const FULL_RETRY_MS = 1_000;

/** Callers' reads of what upstream shows, within the account's budget; see {@link showList} for what is changed. */
@Injectable()
export class UpstreamReads {
  private readonly cache: ReadCache;
  private readonly atOnce = new Map<string, number>();
  private readonly byId = new WeakMap<KeptReply, ReadonlyMap<string, unknown>>();

  constructor(
    @Inject(ACCOUNT_UPSTREAM) private readonly upstream: ShownUpstream,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
  ) {
    this.cache = new ReadCache(environment.READ_CACHE_MS);
  }

  /** @throws {UpstreamError | BudgetExhaustedError} */
  async contacts(account: string, query: UpstreamQuery): Promise<Shown> {
    const answer = await this.askForContacts(account, query);
    const { text } = answer.reply;
    const isAsIs = this.environment.CONTACTS_SHAPE === 'upstream';
    return shown(answer, isAsIs ? showAsIs(text) : showList(text, 'contacts'));
  }

  /** @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async contact(account: string, contactId: string): Promise<Shown> {
    const answer = await this.askForContacts(account, []);
    const contacts = this.byId.get(answer.reply) ?? contactsShown(answer.reply.text);
    this.byId.set(answer.reply, contacts);
    const found = contacts.get(contactId);
    if (found === undefined) throw notFound('contact', contactId);
    return shown(answer, toJson(found));
  }

  /** @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async messages(account: string, contactId: string, query: UpstreamQuery): Promise<Shown> {
    if (RELATIVE.has(contactId)) throw notFound('contact', contactId);
    const answer = await this.ask(account, ['messages', contactId, query], async () => {
      try {
        return await this.upstream.showMessages(account, contactId, query);
      } catch (error) {
        if (error instanceof UpstreamStatusError && error.status === 404)
          throw notFound('contact', contactId);
        throw error;
      }
    });
    return shown(answer, showList(answer.reply.text, 'messages'));
  }

  private askForContacts(account: string, query: UpstreamQuery): Promise<ReadAnswer> {
    return this.ask(account, ['contacts', query], () => this.upstream.showContacts(account, query));
  }

  private ask(
    account: string,
    what: readonly unknown[],
    request: () => Promise<string>,
  ): Promise<ReadAnswer> {
    return this.cache.read([account, ...what], async () => {
      const before = this.atOnce.get(account) ?? 0;
      if (before >= MOST_AT_ONCE) throw new BudgetExhaustedError(FULL_RETRY_MS);
      this.atOnce.set(account, before + 1);
      try {
        return await request();
      } finally {
        const left = (this.atOnce.get(account) ?? 1) - 1;
        if (left === 0) this.atOnce.delete(account);
        else this.atOnce.set(account, left);
      }
    });
  }
}

function shown({ age }: ReadAnswer, body: string): Shown {
  return age === undefined ? { body } : { body, age };
}
