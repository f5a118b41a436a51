import { isRecord } from '#platform';

/** Direction of a message, as seen from the account. `other` stands for undocumented values. */
export type Direction = 'inbound' | 'outbound' | 'other';

/** A message from upstream, with the fields that the gateway uses. */
export interface UpstreamMessage {
  /** Upstream's id of the message, as text. */
  id: string;
  direction: Direction;
  from?: string;
  to?: string;
  /** Text of the message. An empty string if the message has no text. */
  body: string;
  /**
   * Timestamp of the message, in milliseconds since 1970 by upstream's clock. Absent if upstream's timestamp
   * is missing or unreadable.
   */
  timestamp?: number;
  attachments: number;
  delivered: boolean;
  read: boolean;
  /** All fields of the message, unchanged. */
  raw: Readonly<Record<string, unknown>>;
}

const DIRECTIONS: ReadonlyMap<string, Direction> = new Map(
  Object.entries({
    inbound: 'inbound',
    incoming: 'inbound',
    received: 'inbound',
    in: 'inbound',
    outbound: 'outbound',
    outgoing: 'outbound',
    sent: 'outbound',
    out: 'outbound',
  } as const),
);

/**
 * Parses one element of a message list. Returns undefined if the element is not an object or has no valid id; see
 * {@link parseId}.
 */
export function parseMessage(value: unknown): UpstreamMessage | undefined {
  if (!isRecord(value)) return undefined;
  const id = parseId(value.id);
  if (id === undefined) return undefined;
  const status = isRecord(value.status) ? value.status : {};
  const timestamp = parseTimestamp(value.timestamp);
  return {
    id,
    direction:
      DIRECTIONS.get(typeof value.direction === 'string' ? value.direction.toLowerCase() : '') ?? 'other',
    ...(typeof value.from === 'string' ? { from: value.from } : {}),
    ...(typeof value.to === 'string' ? { to: value.to } : {}),
    body: typeof value.message === 'string' ? value.message : '',
    ...(timestamp === undefined ? {} : { timestamp }),
    attachments: Array.isArray(value.attachments) ? value.attachments.length : 0,
    delivered: status.delivered === true,
    read: status.read === true,
    raw: value,
  };
}

/** Half of a surrogate pair. UTF-8 cannot represent it, so an id that contains it would change in Redis or a URL. */
const UNPAIRED_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns an id as text; a number becomes decimal text. Returns undefined if the value is neither a finite number
 * nor a non-empty string without unpaired surrogates.
 */
export function parseId(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' || UNPAIRED_SURROGATE.test(value) ? undefined : value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
}

/** A numeric timestamp below this number is in seconds since 1970. A larger number is in milliseconds. */
const SECONDS_END = 100_000_000_000;
/** Latest time that a `Date` can represent, in milliseconds since 1970. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/**
 * A date and time without a time zone. It is read as UTC, because upstream does not know this process's time zone.
 */
const WITHOUT_ZONE = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/;

/**
 * Returns a timestamp in milliseconds since 1970. Returns undefined if the timestamp is unreadable, or is not after
 * the beginning of 1970. In the second case, upstream probably has no timestamp and sends a default such as
 * `0001-01-01`.
 */
function parseTimestamp(value: unknown): number | undefined {
  const time = parseTime(value);
  return time > 0 && time <= MAX_TIME_MS ? time : undefined;
}

function parseTime(value: unknown): number {
  if (typeof value === 'number') return value < SECONDS_END ? value * 1000 : value;
  if (typeof value !== 'string') return NaN;
  return Date.parse(WITHOUT_ZONE.test(value) ? `${value}Z` : value);
}
