import { Inject, Injectable } from '@nestjs/common';
import type { AccountRegistry, Principal } from '#accounts';
import type { Conversation, ConversationPage, Conversations, ListPosition } from '#conversations';
import { type EventLog, formatCursor } from '#events';
import type { FeedStore, KnownMessage } from '#feed';
import type { GatewayEnvironment } from '#platform';
import { notFound, Problem } from '../problems/problem.js';
import { ACCOUNT_REGISTRY, CONVERSATIONS, ENVIRONMENT, EVENT_LOG, FEED } from '../tokens.js';
import { conversationToJson } from './conversation.view.js';
import type { ConversationsQuery } from './conversations.dto.js';
import { formatListCursor, parseListCursor } from './list-cursor.js';

/** Answers callers' requests for conversations. */
@Injectable()
export class ConversationReads {
  constructor(
    @Inject(CONVERSATIONS) private readonly conversations: Conversations,
    @Inject(FEED) private readonly feed: Pick<FeedStore, 'contactTexts' | 'knownMessages'>,
    @Inject(EVENT_LOG) private readonly log: Pick<EventLog, 'end'>,
    @Inject(ACCOUNT_REGISTRY) private readonly accounts: Pick<AccountRegistry, 'find'>,
    @Inject(ENVIRONMENT) private readonly environment: Pick<GatewayEnvironment, 'CONVERSATIONS'>,
  ) {}

  /** Returns a page of the list as JSON. @throws {Problem} if the account has no conversations */
  async list(caller: Principal, { q, limit, cursor }: ConversationsQuery): Promise<string> {
    const { account } = caller;
    await this.assertKept(account);
    const after = formatCursor(await this.log.end(account));
    const position = parseListCursor(cursor);
    const { conversations, next } = await this.pageOf(caller, q, Number(limit), position);
    const rows = await this.toJson(account, conversations);
    const rest = JSON.stringify({ next: next === undefined ? null : formatListCursor(next), after });
    return `{"conversations":[${rows.join(',')}],${rest.slice(1)}`;
  }

  /** Returns one conversation as JSON. @throws {Problem} if it does not exist */
  async get(caller: Principal, id: string): Promise<string> {
    const [row = ''] = await this.toJson(caller.account, [await this.find(caller, id)]);
    return row;
  }

  /** Marks the messages up to one as seen. @throws {Problem} if the conversation or the message does not exist */
  async markSeen(caller: Principal, id: string, upTo: string): Promise<void> {
    const { account } = caller;
    const conversation = await this.find(caller, id);
    if (await this.conversations.markSeen(account, conversation.id, upTo)) return;
    const unread = await this.conversations.unreadMessages(account, conversation.id);
    const known = await this.feed.knownMessages(account, conversation.id, [upTo, ...unread]);
    const message = known.get(upTo);
    if (message === undefined || message.deleted) throw notFound('message', upTo);
    // Both times are by upstream's clock. The times in the row may be by the clock of Redis, which may differ.
    const seen = unread.filter((other) => isEarlier(known.get(other), message));
    await this.conversations.markEachSeen(account, conversation.id, seen);
  }

  /** Returns conversations as callers see them, each as JSON. */
  async toJson(account: string, conversations: readonly Conversation[]): Promise<string[]> {
    const ids = conversations.flatMap(({ contactId }) => contactId ?? []);
    const contacts = await this.feed.contactTexts(account, ids);
    return conversations.map((conversation) =>
      conversationToJson(conversation, contacts.get(conversation.id)),
    );
  }

  private async pageOf(
    { account, contactIds }: Principal,
    query: string | undefined,
    limit: number,
    after: ListPosition | undefined,
  ): Promise<ConversationPage> {
    if (contactIds !== undefined) {
      const page = await this.conversations.listSome(account, [...contactIds], query, limit, after);
      // The `contactIds` of a token may contain the phone number of a conversation without a contact.
      const conversations = page.conversations.filter(({ contactId }) => contactIds.has(contactId ?? ''));
      return { ...page, conversations };
    }
    return query === undefined
      ? this.conversations.list(account, limit, after)
      : this.conversations.search(account, query, limit, after);
  }

  /** Returns one conversation. @throws {Problem} if it does not exist, or if the caller may not see it */
  async find({ account, contactIds }: Principal, id: string): Promise<Conversation> {
    await this.assertKept(account);
    const [conversation] = await this.conversations.read(account, [id]);
    const isHidden = contactIds !== undefined && !contactIds.has(conversation?.contactId ?? '');
    if (conversation === undefined || isHidden) throw notFound('conversation', id);
    return conversation;
  }

  /** @throws {Problem} if the account has no conversations */
  async assertKept(account: string): Promise<void> {
    if (this.environment.CONVERSATIONS === 'off')
      throw new Problem(
        'not_found',
        'Conversations are turned off. The operator can turn them on with CONVERSATIONS=on.',
      );
    if ((await this.accounts.find(account))?.polling !== true)
      throw new Problem('not_found', 'The account has no conversations, because its polling is turned off.');
  }
}

/**
 * Returns true if a message is certainly earlier than another message. The order of messages with equal timestamps is
 * unknown.
 */
function isEarlier(message: KnownMessage | undefined, other: KnownMessage): boolean {
  return (message?.timestamp ?? Infinity) < (other.timestamp ?? -Infinity);
}
