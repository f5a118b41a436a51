import type { Json, JsonObject } from './json.js';

/** The origin of a message. */
export type MessageOrigin = 'send' | 'injected' | 'typed' | 'autoReply' | 'insertWhilePaging' | 'demo';

/** One part of an accepted send, in the order of the multipart body. */
export type SendPart =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly filename: string;
      readonly contentType: string;
      readonly size: number;
      readonly sha256: string;
    };

/** Changed fields with their old and new values. */
export type Changes = Record<string, { from: Json; to: Json }>;

/** A recorded event. `contactId` is the id that the contact had at the time of the event. */
export type LedgerEvent =
  | {
      /**
       * One request under `/v1`, recorded at the end of its exchange: after the reply, a reset, or a
       * disconnect of the client.
       */
      readonly kind: 'request';
      readonly requestId: string;
      readonly method: string;
      readonly path: string;
      /** Null if no status line was sent. */
      readonly status: number | null;
      readonly fault: string | null;
      readonly keyOk: boolean;
      /** Real time of arrival, in ms since 1970, with fractions. */
      readonly arrivedAt: number;
      readonly durationMs: number;
      /** True if the reply was not sent completely. */
      readonly aborted: boolean;
      /** The `X-Request-Id` header of the client. */
      readonly clientRequestId: string | null;
    }
  | {
      /** A send that was accepted, independent of the reply that the client received. */
      readonly kind: 'send.accepted';
      readonly requestId: string;
      /** Number of the send in the order of acceptance, from 1. */
      readonly sendNumber: number;
      readonly contactId: string;
      readonly phoneNumber: string;
      readonly type: string;
      readonly message: string | null;
      readonly fileUrl: string | null;
      readonly parts: readonly SendPart[];
      /** Ids of the messages of the send: one, or two with `splitTextAndFile`. */
      readonly messageIds: readonly string[];
      /** True if the message is never listed (`sendLostProbability`). */
      readonly lost: boolean;
    }
  | {
      /** A message that was listed for the first time. */
      readonly kind: 'message.created';
      readonly messageId: string;
      readonly contactId: string;
      readonly direction: string;
      readonly origin: MessageOrigin;
      readonly message: string;
      readonly timestamp: string;
      readonly delivered: boolean;
      readonly read: boolean;
      readonly sendNumber: number | null;
    }
  | {
      readonly kind: 'message.changed';
      readonly messageId: string;
      readonly contactId: string;
      readonly revision: number;
      readonly changes: Changes;
    }
  | {
      readonly kind: 'message.deleted' | 'message.restored';
      readonly messageId: string;
      readonly contactId: string;
    }
  | {
      readonly kind: 'contact.created' | 'contact.deleted' | 'contact.restored';
      readonly contactId: string;
      readonly phoneNumber: string;
    }
  | {
      /** `changes` contains `id` if the contact got a new id. */
      readonly kind: 'contact.changed';
      readonly contactId: string;
      readonly revision: number;
      readonly changes: Changes;
    }
  | {
      /**
       * A list as it was written into a reply. The `request` entry with the same id (`aborted`, `status`) shows
       * whether the client received it. `ids`, `flags` and `revisions` are parallel, in the order of the reply.
       */
      readonly kind: 'list.served';
      readonly requestId: string;
      /** Null for the list of contacts. */
      readonly contactId: string | null;
      /** The page and limit that were used, after limits and quirks. Null for the list of contacts. */
      readonly page: number | null;
      readonly limit: number | null;
      readonly ids: readonly string[];
      /** One letter per message: `-` no flag, `d` delivered, `r` read, `b` both. Empty for contacts. */
      readonly flags: string;
      /** Revision of each element. A revision increases by one with each change. */
      readonly revisions: readonly number[];
      /** The fault that damaged the reply, or null. `poisonMessage` replaces or adds an element. */
      readonly damage: string | null;
    }
  | {
      readonly kind: 'simulator.started' | 'simulator.replaced';
      readonly detail: JsonObject;
    };

/** A recorded event with its index in the ledger and the real time, in ms since 1970. */
export type LedgerEntry = LedgerEvent & { readonly index: number; readonly time: number };
