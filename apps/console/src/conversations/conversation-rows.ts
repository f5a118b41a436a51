import type { Conversation } from '#client';

/** Rows from the stream by id, the latest last. */
export type LiveRows = ReadonlyMap<string, Conversation>;

/** The rows that were read from the list. */
export interface ReadRows {
  rows: readonly Conversation[];
  /** True if the list goes on after these rows. */
  hasMore: boolean;
  /** True if the rows are the results of a search. */
  isSearch: boolean;
}

/** Maximum number of rows from the stream that are kept. Another read of the list returns the others. */
const MAX_LIVE = 2_000;

/** Adds a row from the stream, unless a later version of the row is there. */
export function withLiveRow(live: LiveRows, row: Conversation): LiveRows {
  const known = live.get(row.id);
  if (known !== undefined && known.revision > row.revision) return live;
  const rows = new Map(live);
  rows.delete(row.id);
  rows.set(row.id, row);
  const [oldest] = rows.keys();
  if (rows.size > MAX_LIVE && oldest !== undefined) rows.delete(oldest);
  return rows;
}

/**
 * Returns the rows to show, newest first. Of a row that was read and also came from the stream, the later version is
 * shown.
 */
export function mergedRows(read: ReadRows, live: LiveRows): Conversation[] {
  const merged = new Map<string, Conversation>();
  for (const row of read.rows) merged.set(row.id, later(row, merged.get(row.id)));
  const last = read.rows.at(-1);
  const end = read.hasMore && last !== undefined ? last : undefined;
  for (const row of live.values()) {
    const known = merged.get(row.id);
    const isReplacement = row.replaces !== null && merged.delete(row.replaces);
    // The stream does not show whether a search would find a row. A row older than the pages read so far is on a
    // later page.
    const isListed = known !== undefined || isReplacement;
    if (!isListed && (read.isSearch || (end !== undefined && byActivity(row, end) > 0))) continue;
    merged.set(row.id, later(row, known));
  }
  return [...merged.values()].filter((row) => !isEmpty(row)).sort(byActivity);
}

/** Returns the row with the higher revision. */
export function later(row: Conversation, other: Conversation | undefined): Conversation {
  return other !== undefined && other.revision > row.revision ? other : row;
}

/** Returns true for a phone number without any activity: it no longer has a conversation. */
function isEmpty({ lastActivityAt, contactId }: Conversation): boolean {
  return lastActivityAt === null && contactId === null;
}

/** Orders rows as the API does: the newest first, then by the greater id. */
function byActivity(one: Conversation, other: Conversation): number {
  const [a, b] = [keyOf(one), keyOf(other)];
  return a < b ? 1 : a > b ? -1 : 0;
}

function keyOf({ lastActivityAt, id }: Conversation): string {
  return `${lastActivityAt ?? ''} ${id}`;
}
