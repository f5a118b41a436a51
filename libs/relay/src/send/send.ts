/** The statuses of a send. `sent`, `delivered` and `read` are derived from the contact's messages. */
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

/** A file in the blob store that belongs to a send. */
export interface StoredFile {
  blobId: string;
  name: string;
  contentType: string;
  /** Size in bytes. */
  size: number;
  /** Hexadecimal SHA-256 of the content. */
  sha256: string;
}

/** The caller's request. At least one of `message`, `file`, `fileUrl` is present. */
export interface NewSend {
  /** E.164. */
  phoneNumber: string;
  type: string;
  message?: string;
  fileUrl?: string;
  file?: StoredFile;
  /** The caller's own id of the send. */
  reference?: string;
  metadata?: Readonly<Record<string, unknown>>;
  /** Undocumented form fields for upstream, by name; absent if the request has none. */
  extraFields?: Readonly<Record<string, string>>;
  /** Earliest time of the POST, in milliseconds since 1970. */
  sendAt?: number;
  /** Latest time of the POST, in milliseconds since 1970. */
  expiresAt?: number;
}

/** Outcome of one POST to upstream. */
export type AttemptOutcome = 'accepted' | 'not_taken' | 'refused' | 'ambiguous';

/** One POST of a send to upstream. */
export interface SendAttempt {
  /** ISO 8601. */
  at: string;
  outcome: AttemptOutcome;
  httpStatus?: number;
  error?: string;
}

/** A send as callers and `send.*` events show it. Times are ISO 8601 in UTC. */
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
  /** Why the send failed, expired or is unknown, in words. */
  reason: string | null;
}
