import { comparePositions } from '../position.js';
import type { Conversation, LastEntry } from '../row/conversation.js';

/**
 * What a Lua script returns for a conversation row: the id; the time of the last activity, in milliseconds since 1970
 * (0 without any activity); the part of the row that is derived from the contact's messages and fields, as JSON or
 * ''; then pairs of a phone number and the part of the row that is derived from the sends to this number, as JSON or
 * ''.
 */
export type StoredRow = [id: string, lastActivity: string, row: string, ...sends: string[]];

/**
 * The part of a conversation row that is derived from the contact's messages and fields (see `rows` in `RowKeys`).
 */
interface RowOfMessages {
  m?: [at: number, id: string, direction: 'i' | 'o' | 'n', preview: string];
  w?: [at: number, id: string, unread: number][];
  n?: string[];
  c?: string[];
  r?: string;
  v?: number;
}

/**
 * The part of a conversation row that is derived from the sends to one phone number (see `rowSends` in `RowKeys`).
 */
interface RowOfSends {
  p: number;
  f: number;
  s?: [at: number, id: string, preview: string][];
  v?: number;
}

const DIRECTIONS = { i: 'inbound', o: 'outbound', n: 'other' } as const;
/** Maximum value of `unreadCount` of a conversation. */
const MAX_UNREAD = 100;

/** Converts a stored conversation row to a conversation. */
export function conversationOf([id, lastActivity, text, ...parts]: StoredRow): Conversation {
  const isNumber = text === '' && parts[0] === id;
  const row = (text === '' ? {} : JSON.parse(text)) as RowOfMessages;
  const sends = sendsIn(parts);
  const last = lastOf(row, sends);
  const at = Number(lastActivity);
  const sum = (field: 'p' | 'f'): number => sends.reduce((total, part) => total + part[field], 0);
  return {
    id,
    contactId: isNumber ? undefined : id,
    phoneNumbers: isNumber ? [id] : [...new Set([...(row.n ?? []), ...(row.c ?? [])])],
    replaces: row.r,
    last,
    lastMessage: lastMessageOf(row),
    // 0 means that there was no activity. A negative time is valid: conversation rows that earlier builds stored may
    // have a time before 1970.
    lastActivityAt: at === 0 ? undefined : at,
    unreadCount: Math.min((row.w ?? []).filter(([, , unread]) => unread === 1).length, MAX_UNREAD),
    waitingSince: row.w?.[0]?.[0],
    pendingSends: sum('p'),
    failedSends: sum('f'),
    revision: Math.max(row.v ?? 0, ...sends.map(({ v = 0 }) => v)),
  };
}

/** Returns the ids of the unread messages in a stored conversation row, the oldest first. */
export function unreadMessagesOf(row: string): string[] {
  const { w = [] } = JSON.parse(row) as RowOfMessages;
  return w.filter(([, , unread]) => unread === 1).map(([, id]) => id);
}

function sendsIn(parts: readonly string[]): RowOfSends[] {
  const sends: RowOfSends[] = [];
  for (let i = 1; i < parts.length; i += 2) {
    const part = parts[i] ?? '';
    if (part !== '') sends.push(JSON.parse(part) as RowOfSends);
  }
  return sends;
}

function lastOf(row: RowOfMessages, sends: readonly RowOfSends[]): LastEntry | undefined {
  const message = lastMessageOf(row);
  const entries = sends.flatMap(({ s = [] }) =>
    s.map(([at, id, preview]): LastEntry => ({
      ...{ kind: 'send', at, id, direction: 'outbound', preview: preview || null },
    })),
  );
  return [...entries, ...(message === undefined ? [] : [message])].toSorted(comparePositions).at(-1);
}

function lastMessageOf({ m }: RowOfMessages): LastEntry | undefined {
  if (m === undefined) return undefined;
  const [at, id, direction, preview] = m;
  return { kind: 'message', at, id, direction: DIRECTIONS[direction], preview: preview || null };
}
