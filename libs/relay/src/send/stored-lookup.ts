import { truncateText } from '#platform';
import type { SendLookup } from './send.js';

/**
 * One look-up of a send, as stored with the send. Times are in milliseconds since 1970. No text of a message is
 * stored.
 */
export interface StoredLookup {
  /** When the look-up started, by Redis' clock. */
  at: number;
  outcome: SendLookup['outcome'];
  /** A message that was sent before this time, by Redis' clock, cannot be the send's message. */
  since: number;
  contactIds: readonly string[];
  messagesRead: number;
  candidates?: readonly StoredCandidate[];
  error?: string;
}

/** A message that resembles a send, but was not recorded as the send's message. */
export interface StoredCandidate {
  contactId: string;
  messageId: string;
  /** The timestamp of the message, by upstream's clock. Absent if the message has no readable timestamp. */
  sentAt?: number;
  /** Why the message was not recorded as the send's message. */
  reason: string;
  /** Id of the send whose message this is. Absent if the message is not known to belong to a send. */
  sendId?: string;
}

/** Maximum number of look-ups that are stored with a send: its first look-up and its latest ones. */
const MAX_LOOKUPS = 20;
/** Maximum number of similar messages (candidates) that are stored with a look-up. */
export const MAX_CANDIDATES_PER_LOOKUP = 5;
/** Maximum number of contacts that are stored with a look-up. */
const MAX_CONTACTS = 20;
/** Maximum number of characters of an error that are stored with a look-up. */
const MAX_ERROR_LENGTH = 300;

/**
 * Adds a look-up to a list of look-ups. If the list gets too long, keeps the first look-up and the newest ones. Also
 * shortens the new look-up's lists of contacts and candidates, and its error text.
 */
export function appendLookup(lookups: readonly StoredLookup[], lookup: StoredLookup): StoredLookup[] {
  const { contactIds, candidates = [], error, ...rest } = lookup;
  const all: StoredLookup[] = [
    ...lookups,
    {
      ...rest,
      contactIds: contactIds.slice(0, MAX_CONTACTS),
      ...(candidates.length === 0 ? {} : { candidates: candidates.slice(0, MAX_CANDIDATES_PER_LOOKUP) }),
      ...(error === undefined ? {} : { error: truncateText(error, MAX_ERROR_LENGTH) }),
    },
  ];
  return all.length <= MAX_LOOKUPS ? all : [...all.slice(0, 1), ...all.slice(1 - MAX_LOOKUPS)];
}

/** Returns a look-up in the form that API replies contain. */
export function toPublicLookup(lookup: StoredLookup): SendLookup {
  return {
    at: iso(lookup.at),
    outcome: lookup.outcome,
    since: iso(lookup.since),
    contactIds: [...lookup.contactIds],
    messagesRead: lookup.messagesRead,
    candidates: (lookup.candidates ?? []).map(({ contactId, messageId, sentAt, reason, sendId }) => ({
      ...{ contactId, messageId, reason },
      sentAt: sentAt === undefined || !isDate(sentAt) ? null : iso(sentAt),
      sendId: sendId ?? null,
    })),
    error: lookup.error ?? null,
  };
}

/** True if a time from upstream can be converted to a date. Upstream may send any number. */
function isDate(ms: number): boolean {
  return !Number.isNaN(new Date(ms).getTime());
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
