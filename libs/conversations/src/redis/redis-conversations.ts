import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { comparePositions } from '../position.js';
import type { Conversation, ConversationPage, Conversations, ListPosition } from '../row/conversation.js';
import { type SearchTerms, parseSearchQuery } from '../search/search-words.js';
import { conversationOf, type StoredRow, unreadMessagesOf } from './redis-conversation-codec.js';
import { rowRedisKeys } from './redis-row-keys.js';

const listRowsScript = LuaScript.from(import.meta.url, 'lua/list-rows.lua');
const readRowsScript = LuaScript.from(import.meta.url, 'lua/read-rows.lua');
const searchRowsScript = LuaScript.from(import.meta.url, 'lua/search-rows.lua');
const markSeenScript = LuaScript.from(import.meta.url, 'lua/mark-seen.lua');
const markEachSeenScript = LuaScript.from(import.meta.url, 'lua/mark-each-seen.lua');

/** Limits of the work of one search. */
export interface SearchLimits {
  /**
   * A search of all conversation rows uses the index of words only if at most this many rows contain the rarest word
   * of the search, or the digits of the search. Otherwise the search examines the rows with the latest activity.
   */
  maxIndexed: number;
  /**
   * Maximum number of conversation rows that a search examines. It examines the rows with the latest activity first.
   */
  maxCandidates: number;
}

const SEARCH_LIMITS: SearchLimits = { maxIndexed: 2_000, maxCandidates: 1_000 };

/** Implements {@link Conversations} with Redis. */
export class RedisConversations implements Conversations {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly searchLimits = SEARCH_LIMITS,
  ) {}

  async list(account: string, limit: number, after?: ListPosition): Promise<ConversationPage> {
    const { rows, rowOrder, rowSends, numbers } = this.keysOf(account);
    const reply = await listRowsScript.run(
      this.redis,
      { rows, rowOrder, rowSends, numbers },
      // Requests one conversation row more than the page contains, to find out whether another page follows.
      { limit: limit + 1, afterAt: after?.at ?? '', afterId: after?.id ?? '' },
    );
    return pageOf((reply as StoredRow[]).map(conversationOf), limit);
  }

  async search(
    account: string,
    query: string,
    limit: number,
    after?: ListPosition,
  ): Promise<ConversationPage> {
    const found = await this.positionsMatching(account, parseSearchQuery(query), limit + 1, after);
    const page = found.slice(0, limit);
    return {
      conversations: await this.read(account, idsOf(page)),
      // The next page begins after the position that the last conversation of this page had during the search. The
      // conversation may have moved in the list since then.
      next: found.length > limit ? page.at(-1) : undefined,
    };
  }

  async listSome(
    account: string,
    ids: readonly string[],
    query: string | undefined,
    limit: number,
    after?: ListPosition,
  ): Promise<ConversationPage> {
    const found =
      query === undefined
        ? ids
        : idsOf(
            await this.positionsMatching(
              account,
              parseSearchQuery(query),
              this.searchLimits.maxCandidates,
              undefined,
              ids,
            ),
          );
    const sorted = (await this.read(account, found)).toSorted((a, b) =>
      comparePositions(positionOf(b), positionOf(a)),
    );
    const rest = sorted.filter((one) => after === undefined || isAfter(positionOf(one), after));
    return pageOf(rest, limit);
  }

  /**
   * Returns the positions of the conversation rows that match a search, the newest first: at most `limit` of the rows
   * that the search examines (see {@link SearchLimits}).
   * @param among ids of the conversation rows to search; absent means all rows
   */
  private async positionsMatching(
    account: string,
    { words, digits = '' }: SearchTerms,
    limit: number,
    after?: ListPosition,
    among?: readonly string[],
  ): Promise<ListPosition[]> {
    if ((words.length === 0 && digits === '') || among?.length === 0) return [];
    const { rows, rowOrder, rowWords } = this.keysOf(account);
    const reply = await searchRowsScript.run(
      this.redis,
      { rows, rowOrder, rowWords },
      {
        ...{ ...this.searchLimits, limit },
        ...{ afterAt: after?.at ?? '', afterId: after?.id ?? '', digits, wordCount: words.length },
        words: [...words, ...(among ?? [])],
      },
    );
    return (reply as [id: string, at: string][]).map(([id, at]) => ({ id, at: Number(at) }));
  }

  async read(account: string, ids: readonly string[]): Promise<Conversation[]> {
    if (ids.length === 0) return [];
    const { rows, rowOrder, rowSends, numbers } = this.keysOf(account);
    const reply = await readRowsScript.run(this.redis, { rows, rowOrder, rowSends, numbers }, { ids });
    return (reply as StoredRow[]).map(conversationOf);
  }

  async markSeen(account: string, id: string, messageId: string): Promise<boolean> {
    const args = { id, message: messageId };
    return (await markSeenScript.run(this.redis, this.keysOf(account), args)) === 1;
  }

  async unreadMessages(account: string, id: string): Promise<string[]> {
    const text = await this.redis.hget(this.keysOf(account).rows, id);
    return text === null ? [] : unreadMessagesOf(text);
  }

  async markEachSeen(account: string, id: string, messageIds: readonly string[]): Promise<void> {
    if (messageIds.length === 0) return;
    await markEachSeenScript.run(this.redis, this.keysOf(account), { id, messages: messageIds });
  }

  async revision(account: string): Promise<number> {
    return Number(await this.redis.get(this.keysOf(account).rowRevision));
  }

  async countRows(account: string): Promise<number> {
    return this.redis.hlen(this.keysOf(account).rows);
  }

  private keysOf(account: string): ReturnType<typeof rowRedisKeys> {
    return rowRedisKeys(accountKeys(this.prefix, account));
  }
}

/** Removes all conversation rows of an account. */
export async function eraseConversationRows(
  redis: RedisClient,
  prefix: string,
  account: string,
): Promise<void> {
  const { rows, rowOrder, rowSends, rowWords } = rowRedisKeys(accountKeys(prefix, account));
  await redis.unlink(rows, rowOrder, rowSends, rowWords);
}

function pageOf(conversations: Conversation[], limit: number): ConversationPage {
  const page = conversations.slice(0, limit);
  const last = conversations.length > limit ? page.at(-1) : undefined;
  return {
    conversations: page,
    next: last === undefined ? undefined : positionOf(last),
  };
}

function idsOf(positions: readonly ListPosition[]): string[] {
  return positions.map(({ id }) => id);
}

function positionOf({ id, lastActivityAt = 0 }: Conversation): ListPosition {
  return { at: lastActivityAt, id };
}

/**
 * Returns true if a conversation row comes after a position in the list of conversations, which is sorted newest
 * first.
 */
function isAfter(row: ListPosition, position: ListPosition): boolean {
  return comparePositions(row, position) < 0;
}
