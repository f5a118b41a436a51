/** Where a send stands; CONTRACT: `sent` and later are read off the contact's messages. */
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

export type SendStatus = (typeof SEND_STATUSES)[number];

/** A file that waits in the blob store for its relay. */
export interface StoredFile {
  blobId: string;
  name: string;
  contentType: string;
  /** Bytes. */
  size: number;
  /** Hexadecimal SHA-256 of the content. */
  sha256: string;
}

/** What a caller asks for. At least one of `message`, `file`, `fileUrl`. */
export interface NewSend {
  /** E.164. */
  phoneNumber: string;
  type: string;
  message?: string;
  fileUrl?: string;
  file?: StoredFile;
  /** The caller's own id. */
  reference?: string;
  metadata?: Readonly<Record<string, unknown>>;
  /** Further parts for upstream's form, which nobody documented, by name; absent if there are none. */
  extraFields?: Readonly<Record<string, string>>;
  /** Not relayed before; milliseconds since 1970. */
  sendAt?: number;
  /** Not relayed after; milliseconds since 1970. */
  expiresAt?: number;
}

/** How one attempt to hand a send to upstream ended. */
export type AttemptOutcome = 'accepted' | 'not_taken' | 'refused' | 'ambiguous';

/** One attempt to hand a send to upstream. */
export interface SendAttempt {
  /** ISO 8601. */
  at: string;
  outcome: AttemptOutcome;
  httpStatus?: number;
  error?: string;
}

/** A send as it stands; the shape that callers and `send.*` events see. Times are ISO 8601 in UTC. */
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
  /** Why it failed, expired or is unknown, in words. */
  reason: string | null;
}
