import type { Position } from '../position.js';

/**
 * Where a page of a timeline begins, and what earlier requests found out about the lists of messages and sends. The
 * fields `index`, `fixedSize`, `maxLimit` and `sendsBefore` only make some requests unnecessary.
 */
export interface TimelineCursor {
  /** The page contains entries older than this position. Absent for the page of the newest entries. */
  position?: Position;
  /** When the caller requested the first page, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /** Index in upstream's list of messages at which the search for `position` begins. */
  index?: number;
  /** Number of messages on each page, if upstream ignores the requested limit. */
  fixedSize?: number;
  /**
   * Maximum number of messages that upstream returns on a page. Present only if the timeline's requests to upstream
   * showed that the maximum known to the feed is too high.
   */
  maxLimit?: number;
  /** Each send has a serial number. Sends older than {@link position} have serial numbers below `sendsBefore`. */
  sendsBefore?: number;
  /**
   * True if the list is unsorted, or reading it in order has failed. All messages are then read and sorted in memory.
   */
  hasNoOrder?: true;
  /** Number of consecutive requests of the caller for which no message older than {@link position} was found. */
  attempts?: number;
}

const VERSION = 1;
const MAX_LENGTH = 2_000;
/**
 * Maximum values of numbers in a cursor. Callers can forge cursors, and the requests to upstream depend on these
 * numbers.
 */
const MAX_INDEX = 1_000_000_000;
const MAX_SIZE = 10_000;

/** Converts a cursor to the opaque text that callers receive. */
export function formatTimelineCursor(cursor: TimelineCursor): string {
  const { position, startedAt, index, fixedSize, maxLimit, sendsBefore, hasNoOrder, attempts } = cursor;
  const at = position === undefined ? undefined : Number.isFinite(position.at) ? position.at : null;
  const fields = {
    ...{
      v: VERSION,
      t: startedAt,
      a: at,
      i: position?.id,
      x: index,
      f: fixedSize,
      m: maxLimit,
      s: sendsBefore,
    },
    ...{ u: hasNoOrder === true ? 1 : undefined, n: attempts },
  };
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/**
 * Parses a text that {@link formatTimelineCursor} returned. Returns undefined for a value that does not have the form
 * of such a text.
 */
export function parseTimelineCursor(value: unknown): TimelineCursor | undefined {
  if (typeof value !== 'string' || value.length > MAX_LENGTH || !/^[\w-]+$/.test(value)) return undefined;
  const fields = parseFields(value);
  if (fields?.['v'] !== VERSION) return undefined;
  const { t, a, i, x, f, m, s, u, n } = fields;
  const isSize = (item: number | undefined): boolean => item === undefined || (item > 0 && item <= MAX_SIZE);
  const isCount = (item: unknown): item is number | undefined => item === undefined || isWhole(item);
  if (!isWhole(t) || !isCount(x) || !isCount(f) || !isCount(m) || !isCount(s) || !isCount(n))
    return undefined;
  if (!isSize(f) || !isSize(m) || (x ?? 0) > MAX_INDEX || (u !== undefined && u !== 1)) return undefined;
  if (a !== undefined && a !== null && typeof a !== 'number') return undefined;
  if (i !== undefined && (typeof i !== 'string' || a === undefined)) return undefined;
  return {
    startedAt: t,
    ...(a === undefined ? {} : { position: { at: a ?? -Infinity, ...(i === undefined ? {} : { id: i }) } }),
    ...(x === undefined ? {} : { index: x }),
    ...(f === undefined ? {} : { fixedSize: f }),
    ...(m === undefined ? {} : { maxLimit: m }),
    ...(s === undefined ? {} : { sendsBefore: s }),
    ...(u === undefined ? {} : { hasNoOrder: true }),
    ...(n === undefined ? {} : { attempts: n }),
  };
}

function parseFields(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
