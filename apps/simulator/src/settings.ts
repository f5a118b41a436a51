import type { Check } from './checks.js';
import { flag, listOf, merged, oneOf, orNull, share, text, whole, word } from './checks.js';

/**
 * Settings of the simulated upstream, for behaviour that its interface description does not define. All times
 * are in milliseconds.
 */
export interface Settings {
  /** `manual`: time only moves with the verb `advance`, so that a test controls the order of events. */
  clock: 'real' | 'manual';
  /** True if an empty simulator starts with a few demo contacts and old messages. */
  demo: boolean;
  /** Deviation of upstream's clock. Affects the `Date` header and new timestamps. */
  clockSkewMs: number;

  /** Order of a contact's messages. `random` shuffles the messages for every read (seeded). */
  order: 'newestFirst' | 'oldestFirst' | 'random';
  /**
   * Sort key of the order: a message's timestamp, or its time of arrival. By arrival, a late old message
   * counts as the newest.
   */
  sortBy: 'timestamp' | 'arrival';
  /** Format of the contact list: an array, or an object with this one property. */
  contactsShape: 'array' | 'contacts' | 'data' | 'items';
  /** Format of a page of messages: an object with this one property, or an array. */
  messagesShape: 'messages' | 'data' | 'items' | 'array';
  /** Values of the field `direction`. */
  directionValues: { inbound: string; outbound: string };
  /** Values of the field `service`. Each new message gets one at random (seeded). */
  serviceValues: string[];
  /** With `number`, new ids are numerals and are served as JSON numbers. */
  idType: 'string' | 'number';
  /** Format of attachments: objects, URLs, or no field. */
  attachmentShape: 'objects' | 'strings' | 'absent';
  /** Format of timestamps. `iso-offset` is the same time written with +02:00. `absent` omits the field. */
  timestampFormat: 'iso-Z' | 'iso-offset' | 'no-millis' | 'epoch-ms' | 'absent';
  /** Name of the contact field with the phone number. Null: contacts do not show the number. */
  contactPhoneField: string | null;
  /** True if contacts also show `lastMessageAt` and `unreadCount`, which change with their messages. */
  extraContactFields: boolean;
  /** True if messages also show `conversationId` and `revision`. */
  extraMessageFields: boolean;
  /**
   * Signs the addresses of attachments and of the contacts' `avatarUrl` with a new signature at each read.
   * The signature is in the `query`, or in the `path`, where a client cannot recognise it.
   */
  signedAddresses: 'off' | 'query' | 'path';

  /** Maximum `limit`. A greater `limit` is reduced silently. Null: no maximum. */
  limitCap: number | null;
  /** True if `limit` is ignored and every page has 20 messages. */
  limitIgnored: boolean;
  /** True if `page` is ignored and every page is the first. */
  pageIgnored: boolean;
  /** Status of the answer to a request for a page after the last one. Null: an empty page with status 200. */
  missingPageStatus: number | null;
  /**
   * Number of page reads of a contact after which a new inbound message arrives and shifts the pages. 0:
   * never.
   */
  insertWhilePaging: number;
  /** Which lists are empty with status 200: all (true), none (false), or only one kind of list. */
  outage: boolean | 'contacts' | 'messages';
  /**
   * Pads pages with spaces to a number of bytes, streamed. With `per: 'message'` the number applies to each
   * message of the page, so that a smaller `limit` gives smaller pages. With `contactId` or `messageId`, only
   * pages of that contact or with that message are padded.
   */
  hugePage: HugePage | null;
  /** Ids of messages that cannot be serialised. Every page with such a message fails with status 500. */
  failingMessageIds: string[];
  /** Adds a deeply nested field `nested` to some messages or contacts. */
  deepField: DeepField | null;
  /** A contact whose pages never end. */
  endlessPages: EndlessPages | null;
  /**
   * Maximum number of requests per second with an API key, with a burst of the same size. Further requests
   * get 429 and `Retry-After: 1`. Null: no maximum.
   */
  rateLimitPerSecond: number | null;
  /** True if every API key is rejected with 401, as if the key had been revoked. */
  rejectKey: boolean;

  /** Time from the acceptance of a send until its message is listed. */
  sendVisibleDelayMs: number;
  /** Timestamp of a send's message: the time when it was listed, or the time when it was accepted. */
  sendTimestamp: 'visible' | 'accepted';
  /** Share of accepted sends that are never listed. */
  sendLostProbability: number;
  /** Time from listing to `delivered`, and the share of messages that become delivered. */
  deliveredDelayMs: number;
  deliveredProbability: number;
  /** Time from `delivered` to `read`, and the share of delivered messages that become read. */
  readDelayMs: number;
  readProbability: number;
  /** Automatic reply of the contact, `delayMs` after the message was listed. */
  autoReply: { probability: number; delayMs: number; text: string };
  /** True if text and file of one send become two messages. */
  splitTextAndFile: boolean;
  /**
   * Delay of an attachment after its text. The attachment arrives as a change of the message, or as a second
   * message.
   */
  attachmentDelayMs: number;
  /** True if straight quotes, dashes and dots are replaced by typographic ones in listed messages. */
  rewriteQuotes: boolean;
  /** Time from the acceptance of a send until the contact of a new recipient is listed. */
  recipientCountsAsContactDelayMs: number;
  /** Maximum size of an upload. Larger uploads are rejected with 413. */
  maxFileBytes: number;

  /** Time after which a request left hanging by a fault is dropped. */
  hangCapMs: number;
  /** Maximum number of ledger entries. Older entries are dropped and counted. */
  ledgerLimit: number;
}

/** Padding of pages. */
export interface HugePage {
  bytes: number;
  per: 'page' | 'message';
  contactId: string | null;
  messageId: string | null;
}

/** A deeply nested field. */
export interface DeepField {
  levels: number;
  /** Ids of messages and contacts that show the field. */
  ids: string[];
}

/** Generated messages that follow a contact's own messages without end. Requires the order `newestFirst`. */
export interface EndlessPages {
  contactId: string;
  /**
   * True: each read of a page returns messages with new ids. False: the messages keep their ids. Either way,
   * each message is a second older than the one before, beginning before the contact's oldest message.
   */
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
  missingPageStatus: null,
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
  missingPageStatus: orNull(whole(400, 599), 404),
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
 * Returns the settings with a patch merged in. Objects are merged field by field.
 * @throws InvalidInput with the name of an unknown or invalid setting.
 */
export function mergeSettings(current: Readonly<Settings>, patch: unknown, field = ''): Settings {
  return CHECK_SETTINGS(patch, field, { ...current });
}
