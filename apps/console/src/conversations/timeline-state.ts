import type { Event, MessageEntry, Send, SendEntry, SendUpdate, Timeline } from '#client';

/** A message or a send of the timeline. */
export type Entry = MessageEntry | SendEntry;

type MessageEvent = Extract<Event, { type: `message.${string}` }>;

interface Kept {
  entry: Entry;
  /** When the page with the entry was requested, or the event arrived. A page requested earlier changes nothing. */
  knownAt: number;
  /**
   * True if a page contained the entry between its neighbours. Another page with this entry then joins the known
   * entries without a gap. False for an entry that came from the stream, and for scheduled sends, which are on every
   * first page.
   */
  isPlaced: boolean;
}

/** The known part of a timeline. */
export interface TimelineState {
  /** The entries by {@link keyOf}. */
  entries: ReadonlyMap<string, Kept>;
  /** When entries were removed, by key, so that a page that was requested before does not bring them back. */
  removed: ReadonlyMap<string, number>;
  /** The last statuses of sends from the stream, which may come before the send itself. */
  updates: ReadonlyMap<string, { update: SendUpdate; knownAt: number }>;
  /** Cursor of the earlier entries. Null if there are none, undefined if that is not known. */
  earlier: string | null | undefined;
  /** True if the messages could not be read at the last attempt. */
  isPartial: boolean;
  isRead: boolean;
}

/** A change or a read of the timeline. `now` and `askedAt` are times of the same clock. */
export type TimelineAction =
  | { type: 'page'; page: Timeline; isFirst: boolean; askedAt: number }
  | { type: 'event'; event: MessageEvent; now: number }
  | { type: 'update'; update: SendUpdate; now: number }
  | { type: 'send'; send: Send; now: number }
  /** Statuses from the stream may have been missed, so the known statuses may be outdated. */
  | { type: 'gap' };

export const EMPTY_TIMELINE: TimelineState = {
  entries: new Map(),
  removed: new Map(),
  updates: new Map(),
  earlier: undefined,
  isPartial: false,
  isRead: false,
};

/** Maximum number of removed entries and of statuses that are remembered. */
const MAX_REMEMBERED = 500;
const NEW_MESSAGE: ReadonlySet<string> = new Set(['message.received', 'message.sent', 'message.created']);

/** Returns a text that identifies an entry in its timeline. */
export function keyOf(entry: Entry): string {
  return entry.kind === 'message' ? messageKey(entry.message.id) : sendKey(entry.send.id);
}

/** Returns the state after an action. */
export function reduceTimeline(state: TimelineState, action: TimelineAction): TimelineState {
  switch (action.type) {
    case 'page':
      return action.isFirst
        ? withFirstPage(state, action.page, action.askedAt)
        : {
            ...withEntries(state, action.page, action.askedAt),
            earlier: action.page.partial ? state.earlier : action.page.next,
            isPartial: action.page.partial,
          };
    case 'event':
      return withMessageEvent(state, action.event, action.now);
    case 'update':
      return withUpdate(state, action.update, action.now);
    case 'send':
      return withSend(state, action.send, action.now);
    case 'gap':
      return { ...state, updates: new Map() };
  }
}

/** Returns the entries, oldest first. Entries without a time come first. */
export function shownEntries({ entries }: TimelineState): Entry[] {
  return [...entries.values()].map(({ entry }) => entry).sort(byTime);
}

function withFirstPage(before: TimelineState, page: Timeline, askedAt: number): TimelineState {
  const listed = new Set(page.timeline.map(keyOf));
  const isJoined = [...before.entries].some(([key, { isPlaced }]) => isPlaced && listed.has(key));
  // The page does not reach the known entries, so entries between them are missing.
  const hasHole = page.timeline.length > 0 && page.next !== null && !isJoined;
  const isWhole = page.next === null;
  const oldest = page.timeline.at(-1)?.at ?? '';
  const isGone = (key: string, { entry, knownAt }: Kept): boolean => {
    if (knownAt > askedAt || listed.has(key)) return false;
    if (hasHole || isWhole) return true;
    return page.timeline.length > 0 && (entry.at ?? '') > oldest;
  };
  const entries = page.partial
    ? before.entries
    : new Map([...before.entries].filter(([key, kept]) => !isGone(key, kept)));
  const state = withEntries({ ...before, entries }, page, askedAt);
  const isUnknown = before.earlier === undefined || hasHole;
  return {
    ...state,
    earlier: isUnknown && !page.partial ? page.next : before.earlier,
    isPartial: page.partial,
    isRead: true,
  };
}

function withEntries(state: TimelineState, page: Timeline, askedAt: number): TimelineState {
  const entries = new Map(state.entries);
  for (const entry of page.timeline) {
    const key = keyOf(entry);
    const known = entries.get(key);
    const isNewer = (known?.knownAt ?? 0) > askedAt || (state.removed.get(key) ?? 0) > askedAt;
    // If the messaging service cannot be reached, a page has only the beginning of the last message.
    const isFuller = page.partial && known?.entry.kind === 'message';
    if (isNewer || isFuller) continue;
    if (entry.kind === 'send' && hasMessageOf(entries, entry.send.id)) continue;
    const isScheduled = entry.kind === 'send' && entry.scheduled === true;
    const isPlaced = known?.isPlaced === true || (!page.partial && !isScheduled);
    entries.set(key, { entry: withKnownStatus(state, entry, askedAt), knownAt: askedAt, isPlaced });
    if (entry.kind === 'message' && entry.send !== null) entries.delete(sendKey(entry.send.id));
  }
  return { ...state, entries };
}

/**
 * Returns an entry of a page with the status from the stream, if the status arrived after the page was requested.
 */
function withKnownStatus({ updates }: TimelineState, entry: Entry, askedAt: number): Entry {
  if (entry.kind === 'message') return entry;
  const known = updates.get(entry.send.id);
  if (known === undefined || known.knownAt <= askedAt) return entry;
  return { ...entry, send: { ...entry.send, status: known.update.status } };
}

function withMessageEvent(state: TimelineState, event: MessageEvent, now: number): TimelineState {
  const { message, sendId, reference } = event.data;
  const key = messageKey(message.id);
  if (event.type === 'message.deleted') return without(state, key, now);
  const kept = state.entries.get(key);
  const known = kept?.entry;
  // A changed message of an earlier page is shown when that page is read.
  if (known === undefined && !NEW_MESSAGE.has(event.type)) return state;
  const knownMessage = known?.kind === 'message' ? known : undefined;
  const entries = new Map(state.entries);
  if (sendId !== undefined) entries.delete(sendKey(sendId));
  const send =
    sendId === undefined
      ? (knownMessage?.send ?? null)
      : { id: sendId, status: 'sent' as const, reference: reference ?? null };
  const at = knownMessage?.at ?? isoTime(message.timestamp) ?? event.timestamp;
  const entry = { kind: 'message', at, message, send } as const;
  entries.set(key, { entry, knownAt: now, isPlaced: kept?.isPlaced === true });
  return { ...state, entries };
}

function withUpdate(state: TimelineState, update: SendUpdate, now: number): TimelineState {
  const last = state.updates.get(update.id);
  if (last !== undefined && last.update.revision > update.revision) return state;
  const updates = remembering(state.updates, update.id, { update, knownAt: now });
  const key = sendKey(update.id);
  const kept = state.entries.get(key);
  if (kept?.entry.kind !== 'send') return { ...state, updates };
  if (update.status === 'cancelled') return without({ ...state, updates }, key, now);
  const entries = new Map(state.entries);
  const entry = entryOf({ ...kept.entry.send, status: update.status });
  entries.set(key, { ...kept, entry, knownAt: now });
  return { ...state, updates, entries };
}

function withSend(state: TimelineState, send: Send, now: number): TimelineState {
  const key = sendKey(send.id);
  if (send.status === 'cancelled') return without(state, key, now);
  if (hasMessageOf(state.entries, send.id)) return state;
  const entries = new Map(state.entries);
  const isPlaced = state.entries.get(key)?.isPlaced === true;
  entries.set(key, { entry: withKnownStatus(state, entryOf(send), 0), knownAt: now, isPlaced });
  return { ...state, entries };
}

function without(state: TimelineState, key: string, now: number): TimelineState {
  const entries = new Map(state.entries);
  entries.delete(key);
  return { ...state, entries, removed: remembering(state.removed, key, now) };
}

function entryOf(send: Send): SendEntry {
  return send.status === 'scheduled' && send.sendAt !== null
    ? { kind: 'send', at: send.sendAt, send, scheduled: true }
    : { kind: 'send', at: send.createdAt, send };
}

function hasMessageOf(entries: ReadonlyMap<string, Kept>, sendId: string): boolean {
  for (const { entry } of entries.values())
    if (entry.kind === 'message' && entry.send?.id === sendId) return true;
  return false;
}

function remembering<T>(map: ReadonlyMap<string, T>, key: string, value: T): ReadonlyMap<string, T> {
  const next = new Map(map);
  next.delete(key);
  next.set(key, value);
  const [oldest] = next.keys();
  if (next.size > MAX_REMEMBERED && oldest !== undefined) next.delete(oldest);
  return next;
}

function byTime(one: Entry, other: Entry): number {
  const [a, b] = [`${one.at ?? ''} ${keyOf(one)}`, `${other.at ?? ''} ${keyOf(other)}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The messaging service may send any value as a time. */
function isoTime(value: unknown): string | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function messageKey(id: string | number): string {
  return `message ${id}`;
}

function sendKey(id: string): string {
  return `send ${id}`;
}
