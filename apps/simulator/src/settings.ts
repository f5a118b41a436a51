import type { Check } from './checks.js';
import { flag, listOf, merged, oneOf, orNull, share, text, whole, word } from './checks.js';

/** The knobs: how this upstream looks and behaves where its interface description is silent. All times in ms. */
export interface Settings {
  /** `manual`: time stands still but for `advance`, so that a test decides what happens when. */
  clock: 'real' | 'manual';
  /** A world that starts empty is filled with a few demo contacts and old messages. */
  demo: boolean;
  /** How far this upstream's clock is off; moves its `Date` header and the timestamps it gives from now on. */
  clockSkewMs: number;

  /** Order of a contact's messages; `random` shuffles anew for every read (seeded). */
  order: 'newestFirst' | 'oldestFirst' | 'random';
  /** What that order goes by: a message's timestamp, or when it arrived (an old message then comes as newest). */
  sortBy: 'timestamp' | 'arrival';
  /** Shape of the contact list: a bare array, or an object with this one property. */
  contactsShape: 'array' | 'contacts' | 'data' | 'items';
  /** Shape of a page of messages: an object with this one property, or a bare array. */
  messagesShape: 'messages' | 'data' | 'items' | 'array';
  /** What the two directions are called on the wire. */
  directionValues: { inbound: string; outbound: string };
  /** Transports; each new message gets one of them (seeded draw). */
  serviceValues: string[];
  /** Ids made from now on are numerals, and numerals are served as JSON numbers. */
  idType: 'string' | 'number';
  /** Attachments as objects, as plain URLs, or the field missing altogether. */
  attachmentShape: 'objects' | 'strings' | 'absent';
  /** `iso-offset` is the same moment written with +02:00; `absent` leaves the field out. */
  timestampFormat: 'iso-Z' | 'iso-offset' | 'no-millis' | 'epoch-ms' | 'absent';
  /** Name of the contact field that holds the phone number; null: contacts do not show it. */
  contactPhoneField: string | null;
  /** Contacts also show `lastMessageAt` and `unreadCount`, which move with their messages. */
  extraContactFields: boolean;
  /** Messages also show `conversationId` and `revision`. */
  extraMessageFields: boolean;
  /**
   * Each read signs the addresses of attachments anew, and contacts show an `avatarUrl` signed likewise: in the `query`,
   * or in the `path`, where nobody can tell the signature from the address.
   */
  signedAddresses: 'off' | 'query' | 'path';

  /** A greater `limit` is silently cut to this; null: no cap. */
  limitCap: number | null;
  /** `limit` is ignored: every page has 20. */
  limitIgnored: boolean;
  /** `page` is ignored: every page is the first. */
  pageIgnored: boolean;
  /** After every n-th page read of a contact a new inbound message arrives there, so that items shift; 0: never. */
  insertWhilePaging: number;
  /** Lists answer 200 with nothing in them: true for both, or one of the two. */
  outage: boolean | 'contacts' | 'messages';
  /**
   * Pages are padded with JSON blanks to so many bytes, streamed. `per: 'message'`: so many for each message on the
   * page, so that a smaller `limit` helps. With `contactId` or `messageId` only pages of that contact, or that show
   * that message.
   */
  hugePage: HugePage | null;
  /** Messages that cannot be serialised: every page that would show one of them is answered 500. */
  failingMessageIds: string[];
  /** Some messages or contacts show a field `nested`, which is so many objects deep. */
  deepField: DeepField | null;
  /** One contact whose pages never end. */
  endlessPages: EndlessPages | null;
  /** Requests with a key answered per second (with as much burst), the rest get 429 and `Retry-After: 1`. */
  rateLimitPerSecond: number | null;
  /** Every key is refused with 401, as after a key was revoked. */
  rejectKey: boolean;

  /** From the acceptance of a send until its message is listed. */
  sendVisibleDelayMs: number;
  /** The timestamp of a send's message: when it was listed, or already when it was accepted. */
  sendTimestamp: 'visible' | 'accepted';
  /** Share of sends that are accepted and never listed. */
  sendLostProbability: number;
  /** From listed to `delivered`, and the share of messages that get there. */
  deliveredDelayMs: number;
  deliveredProbability: number;
  /** From `delivered` to `read`, and the share of delivered messages that get there. */
  readDelayMs: number;
  readProbability: number;
  /** The contact answers by itself, `delayMs` after the message was listed. */
  autoReply: { probability: number; delayMs: number; text: string };
  /** Text and file of one send become two messages. */
  splitTextAndFile: boolean;
  /** An attachment comes so much later than its text: as a change of the message, or later as the second of two. */
  attachmentDelayMs: number;
  /** Straight quotes, dashes and dots become typographic in the message that is listed. */
  rewriteQuotes: boolean;
  /** The contact of a new recipient is listed only so much after the send was accepted. */
  recipientCountsAsContactDelayMs: number;
  /** Larger uploads are refused with 413. */
  maxFileBytes: number;

  /** A request left hanging by a fault is dropped after this. */
  hangCapMs: number;
  /** Entries kept in the ledger; older ones are dropped, and the ledger says so. */
  ledgerLimit: number;
}

export interface HugePage {
  bytes: number;
  per: 'page' | 'message';
  contactId: string | null;
  messageId: string | null;
}

export interface DeepField {
  levels: number;
  /** Of messages and of contacts. */
  ids: string[];
}

/** Behind the contact's own messages, where the newest come first, stand others without an end. */
export interface EndlessPages {
  contactId: string;
  /** Each read of a page shows others, stamped now; else they are always the same, each a second older than the one before. */
  fresh: boolean;
}

export const DEFAULT_SETTINGS: Readonly<Settings> = {
  clock: 'real',
  demo: false,
  clockSkewMs: 0,
  order: 'newestFirst',
  sortBy: 'timestamp',
  contactsShape: 'contacts',
  messagesShape: 'messages',
  directionValues: { inbound: 'inbound', outbound: 'outbound' },
  serviceValues: ['iMessage'],
  idType: 'string',
  attachmentShape: 'objects',
  timestampFormat: 'iso-Z',
  contactPhoneField: 'phoneNumber',
  extraContactFields: false,
  extraMessageFields: false,
  signedAddresses: 'off',
  limitCap: 100,
  limitIgnored: false,
  pageIgnored: false,
  insertWhilePaging: 0,
  outage: false,
  hugePage: null,
  failingMessageIds: [],
  deepField: null,
  endlessPages: null,
  rateLimitPerSecond: null,
  rejectKey: false,
  sendVisibleDelayMs: 300,
  sendTimestamp: 'visible',
  sendLostProbability: 0,
  deliveredDelayMs: 700,
  deliveredProbability: 1,
  readDelayMs: 2_000,
  readProbability: 0,
  autoReply: { probability: 0, delayMs: 2_000, text: 'Thanks, got it.' },
  splitTextAndFile: false,
  attachmentDelayMs: 0,
  rewriteQuotes: false,
  recipientCountsAsContactDelayMs: 0,
  maxFileBytes: 104_857_600,
  hangCapMs: 120_000,
  ledgerLimit: 1_000_000,
};

const DELAY = whole(0, 365 * 86_400_000);
const NO_HUGE_PAGE: HugePage = { bytes: 1_048_576, per: 'page', contactId: null, messageId: null };

const CHECK_SETTINGS: Check<Settings> = merged<Settings>({
  clock: oneOf('real', 'manual'),
  demo: flag(),
  clockSkewMs: whole(-365 * 86_400_000, 365 * 86_400_000),
  order: oneOf('newestFirst', 'oldestFirst', 'random'),
  sortBy: oneOf('timestamp', 'arrival'),
  contactsShape: oneOf('array', 'contacts', 'data', 'items'),
  messagesShape: oneOf('messages', 'data', 'items', 'array'),
  directionValues: merged<Settings['directionValues']>({ inbound: word(64), outbound: word(64) }),
  serviceValues: listOf(word(64), '', 1, 20),
  idType: oneOf('string', 'number'),
  attachmentShape: oneOf('objects', 'strings', 'absent'),
  timestampFormat: oneOf('iso-Z', 'iso-offset', 'no-millis', 'epoch-ms', 'absent'),
  contactPhoneField: orNull(word(64), ''),
  extraContactFields: flag(),
  extraMessageFields: flag(),
  signedAddresses: oneOf('off', 'query', 'path'),
  limitCap: orNull(whole(1, 1_000_000), 1),
  limitIgnored: flag(),
  pageIgnored: flag(),
  insertWhilePaging: whole(0, 1_000_000),
  outage: oneOf<Settings['outage']>(true, false, 'contacts', 'messages'),
  hugePage: orNull(
    merged<HugePage>({
      bytes: whole(1, 10_000_000_000),
      per: oneOf('page', 'message'),
      contactId: orNull(word(), ''),
      messageId: orNull(word(), ''),
    }),
    NO_HUGE_PAGE,
  ),
  failingMessageIds: listOf(word(), '', 0, 1_000),
  deepField: orNull(merged<DeepField>({ levels: whole(1, 1_000_000), ids: listOf(word(), '', 0, 1_000) }), {
    levels: 4_000,
    ids: [],
  }),
  endlessPages: orNull(merged<EndlessPages>({ contactId: word(), fresh: flag() }), {
    contactId: '',
    fresh: false,
  }),
  rateLimitPerSecond: orNull(whole(1, 1_000_000), 1),
  rejectKey: flag(),
  sendVisibleDelayMs: DELAY,
  sendTimestamp: oneOf('visible', 'accepted'),
  sendLostProbability: share(),
  deliveredDelayMs: DELAY,
  deliveredProbability: share(),
  readDelayMs: DELAY,
  readProbability: share(),
  autoReply: merged<Settings['autoReply']>({ probability: share(), delayMs: DELAY, text: text() }),
  splitTextAndFile: flag(),
  attachmentDelayMs: DELAY,
  rewriteQuotes: flag(),
  recipientCountsAsContactDelayMs: DELAY,
  maxFileBytes: whole(1, 10_000_000_000),
  hangCapMs: whole(1, 3_600_000),
  ledgerLimit: whole(1, 10_000_000),
});

/**
 * The settings with a patch merged in, objects field by field.
 * @throws InvalidInput naming the knob that is unknown or has a wrong value.
 */
export function mergeSettings(current: Readonly<Settings>, patch: unknown, field = ''): Settings {
  return CHECK_SETTINGS(patch, field, { ...current });
}
