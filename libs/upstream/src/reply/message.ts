/** Which way a message went, relative to the account; `other` for a value that nobody documented. */
export type Direction = 'inbound' | 'outbound' | 'other';

/** A message as upstream shows it, with what the gateway reads out of it. */
export interface UpstreamMessage {
  /** Upstream's id, as text. */
  id: string;
  direction: Direction;
  from?: string;
  to?: string;
  /** The text; empty if there is none. */
  body: string;
  /** Milliseconds since 1970 on upstream's clock; absent if the timestamp is missing or unreadable. */
  timestamp?: number;
  attachments: number;
  delivered: boolean;
  read: boolean;
  /** Everything upstream said, untouched. */
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

/** Reads one element of a message list, or undefined if it has no id to know it by. */
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

/** An id as text; numbers are taken as their decimal text. */
export function parseId(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
}

/** Below this a number is taken as seconds since 1970, above as milliseconds. */
const SECONDS_END = 100_000_000_000;

function parseTimestamp(value: unknown): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return value < SECONDS_END ? value * 1000 : value;
  if (typeof value !== 'string') return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
}

/** Whether a JSON value is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
