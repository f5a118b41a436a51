import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { comparePositions } from '../position.js';
import type { Conversation, ConversationPage, Conversations, ListPosition } from '../row/conversation.js';
import { comparable, type SearchTerms, searchTermsOf, searchWordsOf } from '../search/search-words.js';
import { conversationOf, type StoredRow } from './redis-conversation-codec.js';
import { rowRedisKeys } from './redis-row-keys.js';

const listRows = LuaScript.from(import.meta.url, 'lua/list-rows.lua');
const readRows = LuaScript.from(import.meta.url, 'lua/read-rows.lua');
const findCandidates = LuaScript.from(import.meta.url, 'lua/find-candidates.lua');
const markSeen = LuaScript.from(import.meta.url, 'lua/mark-seen.lua');

/** A word that more rows have than this is not looked up in the index. */
const MAX_INDEXED = 2_000;
/** Maximum number of rows that a search considers: the latest. */
const MAX_CANDIDATES = 1_000;
/** Number of candidates whose contacts are read at once. */
const CANDIDATES_A_READ = 200;

/** Reads the stored fields of contacts. */
export interface ContactTexts {
  /** Returns contacts as JSON, by id. Unknown contacts are left out. */
  contactTexts(account: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Implements {@link Conversations} with Redis. */
export class RedisConversations implements Conversations {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly contacts: ContactTexts,
  ) {}

  async list(account: string, limit: number, after?: ListPosition): Promise<ConversationPage> {
    const { rows, rowOrder, rowSends, numbers } = this.keysOf(account);
    const reply = await listRows.run(
      this.redis,
      { rows, rowOrder, rowSends, numbers },
      // One row more than the page has tells whether there is a next page.
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
    const terms = searchTermsOf(query);
    const words = wordsToFind(terms);
    if (words.length === 0) return { conversations: [], next: undefined };
    const { rowOrder, rowWords } = this.keysOf(account);
    const [source, ...pairs] = (await findCandidates.run(
      this.redis,
      { rowOrder, rowWords },
      { maxIndexed: MAX_INDEXED, maxCandidates: MAX_CANDIDATES, words },
    )) as string[];
    const candidates = positionsIn(pairs).filter((one) => after === undefined || isAfter(one, after));
    const ids = candidates.map(({ id }) => id);
    // The index has answered a query of one part.
    const isAnswered = source === 'indexed' && words.length === 1;
    const found = isAnswered ? ids : await this.firstMatching(account, ids, terms, limit + 1);
    return pageOf(await this.read(account, found.slice(0, limit + 1)), limit);
  }

  async listSome(
    account: string,
    ids: readonly string[],
    query: string | undefined,
    limit: number,
    after?: ListPosition,
  ): Promise<ConversationPage> {
    const terms = query === undefined ? undefined : searchTermsOf(query);
    if (terms !== undefined && wordsToFind(terms).length === 0) return { conversations: [], next: undefined };
    const found = terms === undefined ? ids : await this.matching(account, ids, terms);
    const sorted = (await this.read(account, found)).toSorted((a, b) =>
      comparePositions(positionOf(b), positionOf(a)),
    );
    const rest = sorted.filter((one) => after === undefined || isAfter(positionOf(one), after));
    return pageOf(rest, limit);
  }

  async read(account: string, ids: readonly string[]): Promise<Conversation[]> {
    if (ids.length === 0) return [];
    const { rows, rowOrder, rowSends, numbers } = this.keysOf(account);
    const reply = await readRows.run(this.redis, { rows, rowOrder, rowSends, numbers }, { ids });
    return (reply as StoredRow[]).map(conversationOf);
  }

  async markSeen(account: string, id: string, upTo: { id: string; at?: number }): Promise<boolean> {
    const args = { id, message: upTo.id, at: upTo.at ?? '' };
    return (await markSeen.run(this.redis, this.keysOf(account), args)) === 1;
  }

  async revision(account: string): Promise<number> {
    return Number(await this.redis.get(this.keysOf(account).rowRevision));
  }

  async countRows(account: string): Promise<number> {
    return this.redis.hlen(this.keysOf(account).rows);
  }

  /** Returns the first `count` of these conversations that match, or a few more. */
  private async firstMatching(
    account: string,
    ids: readonly string[],
    terms: SearchTerms,
    count: number,
  ): Promise<string[]> {
    const found: string[] = [];
    for (let i = 0; i < ids.length && found.length < count; i += CANDIDATES_A_READ)
      found.push(...(await this.matching(account, ids.slice(i, i + CANDIDATES_A_READ), terms)));
    return found;
  }

  /** Returns the conversations whose contact or phone number has all that is looked for. */
  private async matching(
    account: string,
    ids: readonly string[],
    { words, digits }: SearchTerms,
  ): Promise<string[]> {
    if (digits === undefined) {
      const texts = await this.contacts.contactTexts(account, ids);
      return ids.filter((id) => hasWords(texts.get(id) ?? '{}', words));
    }
    const conversations = await this.read(account, ids);
    const matches = conversations.filter(({ phoneNumbers }) =>
      phoneNumbers.some((number) => hasDigits(number, digits)),
    );
    return matches.map(({ id }) => id);
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

function positionOf({ id, lastActivityAt = 0 }: Conversation): ListPosition {
  return { at: lastActivityAt, id };
}

/** Returns the words to look up in the index. Alternatives are joined by a space. */
function wordsToFind({ words, digits }: SearchTerms): string[] {
  if (digits === undefined) return words;
  return [`+${digits} -${Array.from(digits).reverse().join('')}`];
}

/** Returns true if a contact, as JSON, has words that begin with each of the given ones. */
function hasWords(contact: string, words: readonly string[]): boolean {
  // Most contacts have no such text at all, which is quicker to find out than their words.
  const text = comparable(contact);
  if (!words.every((word) => text.includes(word)) && !contact.includes('\\u')) return false;
  const own = searchWordsOf(JSON.parse(contact) as Record<string, unknown>);
  return words.every((word) => own.some((one) => one.startsWith(word)));
}

function hasDigits(phoneNumber: string, digits: string): boolean {
  const own = phoneNumber.replace(/\D/g, '');
  return own.startsWith(digits) || own.endsWith(digits);
}

function positionsIn(pairs: readonly string[]): ListPosition[] {
  const positions: ListPosition[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2)
    positions.push({ id: pairs[i] ?? '', at: Number(pairs[i + 1]) });
  return positions;
}

/** Returns true if a row comes after a position in the list, which is sorted from the greatest to the least. */
function isAfter(row: ListPosition, position: ListPosition): boolean {
  return comparePositions(row, position) < 0;
}
