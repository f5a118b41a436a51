/** What the oracle of conversation rows knows of a contact, and what follows from it for the contact's row. */
import type { KnownForm, MessageKnowledge } from './oracle.js';

/** A row as the product shows it. */
export interface ShownRow {
  id: string;
  contactId: string | undefined;
  phoneNumbers: readonly string[];
  replaces: string | undefined;
  last: ShownEntry | undefined;
  lastActivityAt: number | undefined;
  unreadCount: number;
  waitingSince: number | undefined;
  pendingSends: number;
  failedSends: number;
  revision: number;
}

export interface ShownEntry {
  kind: 'message' | 'send';
  id: string;
  at: number;
  direction: 'inbound' | 'outbound' | 'other';
  preview: string | null;
}

/** A send as the API shows it. `createdAt` is in milliseconds since 1970. */
export interface ShownSend {
  id: string;
  status: string;
  phoneNumber: string;
  message: string | null;
  createdAt: number;
  contactId: string | null;
  messageId: string | null;
}

export interface Position {
  at: number;
  id: string;
}

export interface RowMessage extends Position {
  kind: 'inbound' | 'outbound' | 'other';
  /** Possible texts. More than one if a read leaves the text open. */
  texts: readonly string[];
  /** False if a read leaves open whether the message is known. */
  isCertain: boolean;
  /** True if upstream no longer shows the message, but its deletion was not emitted yet. */
  isAbsent: boolean;
}

export interface RowContact {
  isListed: boolean;
  /** Phone numbers in the contact's fields and its messages. */
  numbers: Set<string>;
  messages: Map<string, RowMessage>;
  /** Ids of all messages that were known at some time. */
  everKnown: Set<string>;
  /** Messages that were emitted as received and are neither seen nor answered, by id. */
  unread: Map<string, Position>;
  /** Numbers whose row this one may have replaced last. The empty string if it may have replaced none. */
  replaced: Set<string>;
  /** True from the start of a new baseline until the complete read that ends it. */
  isResyncing: boolean;
  /** True if positions of messages are uncertain: they have no timestamps, or the clock jumped. */
  isBlurred: boolean;
  /** True if it is uncertain which messages are unread, because a new baseline emitted some of them again. */
  isUnreadOpen: boolean;
  /**
   * True if the row was recomputed while messages were absent: until the next complete read it may lack them, even if
   * they return.
   */
  mayLackMessages: boolean;
}

const MAX_PREVIEW = 280;

export function newContact(): RowContact {
  return {
    ...{ isListed: true, isResyncing: false, isBlurred: false, isUnreadOpen: false, mayLackMessages: false },
    ...{ numbers: new Set(), messages: new Map(), everKnown: new Set() },
    ...{ unread: new Map(), replaced: new Set() },
  };
}

export function forgetUnreadUpTo({ unread }: RowContact, upTo: Position): void {
  for (const [id, position] of unread) if (comparePositions(position, upTo) <= 0) unread.delete(id);
}

export function isExact(contact: RowContact): boolean {
  if (contact.isBlurred || contact.isResyncing || contact.mayLackMessages) return false;
  return [...contact.messages.values()].every(({ isCertain, isAbsent }) => isCertain && !isAbsent);
}

export interface Summary {
  last: RowMessage | undefined;
  /** The last message that upstream shows. */
  lastPresent: RowMessage | undefined;
  lastOutbound: RowMessage | undefined;
  /** The last outbound message that upstream shows. */
  lastPresentOutbound: RowMessage | undefined;
  /** Inbound messages after the last outbound message, oldest first. */
  waiting: RowMessage[];
}

export function summaryOf({ messages }: RowContact): Summary {
  const sorted = [...messages.values()].sort(comparePositions);
  const at = sorted.findLastIndex(({ kind }) => kind === 'outbound');
  return {
    last: sorted.at(-1),
    lastPresent: sorted.findLast(({ isAbsent }) => !isAbsent),
    lastOutbound: sorted[at],
    lastPresentOutbound: sorted.findLast(({ kind, isAbsent }) => kind === 'outbound' && !isAbsent),
    waiting: sorted.slice(at + 1).filter(({ kind }) => kind === 'inbound'),
  };
}

export function latest<P extends Position>(positions: readonly P[]): P | undefined {
  return [...positions].sort(comparePositions).at(-1);
}

export function positionOf({ id, createdAt }: ShownSend): Position {
  return { at: createdAt, id };
}

export function placeOf({ id, lastActivityAt = 0 }: ShownRow): Position {
  return { at: lastActivityAt, id };
}

export function comparePositions(a: Position, b: Position): number {
  return a.at - b.at || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}

export function isPending({ status }: ShownSend): boolean {
  return ['scheduled', 'queued', 'relaying', 'accepted'].includes(status);
}

export function hasFailed({ status }: ShownSend): boolean {
  return ['failed', 'expired', 'unknown'].includes(status);
}

export function isUndated({ after }: MessageKnowledge): boolean {
  return after.some((form) => form !== undefined && form.timestamp === undefined);
}

export function previewOf(text: string): string | null {
  return Array.from(text).slice(0, MAX_PREVIEW).join('') || null;
}

/** The parsed fields of messages. */
const parsed = new WeakMap<KnownForm, Record<string, unknown>>();

function fieldOf(form: KnownForm, field: string): string {
  const fields = parsed.get(form) ?? (JSON.parse(form.rest) as Record<string, unknown>);
  parsed.set(form, fields);
  const value = fields[field];
  return typeof value === 'string' ? value : '';
}

export function textOf(form: KnownForm): string {
  return fieldOf(form, 'message');
}

/** Returns the contact's own phone number in a message. */
export function numberOf(form: KnownForm): string | undefined {
  if (form.kind === 'other') return undefined;
  return fieldOf(form, form.kind === 'inbound' ? 'from' : 'to');
}

export function numbersIn(wire: string): string[] {
  const fields = Object.values(JSON.parse(wire) as Record<string, unknown>);
  return fields.filter((value): value is string => typeof value === 'string' && /^\+\d+$/.test(value));
}
