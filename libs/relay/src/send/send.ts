/**
 * The statuses of a send. A send becomes `sent`, `delivered` or `read` when upstream shows its message and the
 * message's flags. It also becomes `sent` if an operator records this outcome.
 */
export const SEND_STATUSES = [
  'scheduled',
  'queued',
  'relaying',
  'accepted',
  'sent',
  'delivered',
  'read',
  'unknown',
  'failed',
  'cancelled',
  'expired',
] as const;

/** The status of a send. */
export type SendStatus = (typeof SEND_STATUSES)[number];

/** An uploaded file that belongs to a send. The content is in the blob store. */
export interface StoredFile {
  blobId: string;
  name: string;
  contentType: string;
  /** Size in bytes. */
  size: number;
  /** Hexadecimal SHA-256 of the content. */
  sha256: string;
}

/** A caller's request to send a text or file. At least one of `message`, `file`, `fileUrl` is present. */
export interface NewSend {
  /** Phone number of the recipient in E.164 format. */
  phoneNumber: string;
  type: string;
  message?: string;
  fileUrl?: string;
  file?: StoredFile;
  /** The caller's own identifier for the send. */
  reference?: string;
  metadata?: Readonly<Record<string, unknown>>;
  /**
   * Additional form fields for upstream that the API does not define, by name; absent if the request has none.
   */
  extraFields?: Readonly<Record<string, string>>;
  /** The send is not posted to upstream before this time, in milliseconds since 1970. */
  sendAt?: number;
  /** Deadline, in milliseconds since 1970. A send that is not relayed by this time expires. */
  expiresAt?: number;
}

/**
 * Outcome of one attempt to post a send to upstream. `accepted`: upstream answered `queued`. `not_taken`: upstream
 * certainly did not accept the send, so a retry is safe. `refused`: upstream rejected the send permanently.
 * `ambiguous`: upstream may have accepted the send.
 */
export type AttemptOutcome = 'accepted' | 'not_taken' | 'refused' | 'ambiguous';

/** One attempt to post a send to upstream. It made no POST if the send's file could not be read. */
export interface SendAttempt {
  /** When the attempt started, as an ISO 8601 time. */
  at: string;
  outcome: AttemptOutcome;
  httpStatus?: number;
  error?: string;
}

/**
 * Outcome of one look-up. `found`: the send's message was found. `ambiguous`: several messages fit the send equally
 * well. `not_found`: no message fits. `incomplete`: none of the messages that were read fits, but some messages may
 * not have been read. `failed`: the messages could not be read.
 */
export const LOOKUP_OUTCOMES = ['found', 'ambiguous', 'not_found', 'incomplete', 'failed'] as const;

/** A message that resembles a send, but was not recorded as the send's message. */
export interface LookupCandidate {
  contactId: string;
  messageId: string;
  /** The timestamp of the message. Null if the message has no readable timestamp. */
  sentAt: string | null;
  /** Why the message was not recorded as the send's message, as text. */
  reason: string;
  /** Id of the send whose message this is, or null if the message is not known to belong to a send. */
  sendId: string | null;
}

/** One look-up of a send among the messages of its recipient. Times are ISO 8601 in UTC. */
export interface SendLookup {
  at: string;
  outcome: (typeof LOOKUP_OUTCOMES)[number];
  /** A message that was sent before this time cannot be the send's message. */
  since: string;
  /** The contacts with the recipient's phone number whose messages the look-up read or tried to read. */
  contactIds: string[];
  /** Number of messages that the look-up read. A message that it read twice counts twice. */
  messagesRead: number;
  candidates: LookupCandidate[];
  /** Why the look-up failed, as text. Null if it did not fail. */
  error: string | null;
}

/** A send in the form that API replies and `send.*` events contain. Times are ISO 8601 in UTC. */
export interface Send {
  id: string;
  status: SendStatus;
  phoneNumber: string;
  type: string;
  message: string | null;
  fileUrl: string | null;
  file: { name: string; contentType: string; size: number; sha256: string } | null;
  reference: string | null;
  metadata: Readonly<Record<string, unknown>> | null;
  extraFields: Readonly<Record<string, string>>;
  createdAt: string;
  updatedAt: string;
  sendAt: string | null;
  expiresAt: string | null;
  attempts: SendAttempt[];
  contactId: string | null;
  messageId: string | null;
  /**
   * Why the send failed, expired, has the status `unknown` or is being looked up, or why retention removes it, as
   * text. Otherwise null.
   */
  reason: string | null;
  /**
   * The look-ups of the send, oldest first. If there were many, only the first and the latest ones are included.
   * Absent in events and timelines.
   */
  lookups?: SendLookup[];
}
