import type { Json, JsonObject } from './json.js';

/** Where a message came from. */
export type MessageOrigin = 'send' | 'injected' | 'typed' | 'autoReply' | 'insertWhilePaging' | 'demo';

/** One part of an accepted send, in the order in which the parts came. */
export type SendPart =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly filename: string;
      readonly contentType: string;
      readonly size: number;
      readonly sha256: string;
    };

export type Changes = Record<string, { from: Json; to: Json }>;

/** What can happen. `contactId` is the contact's id at that moment. */
export type LedgerEvent =
  | {
      /** One request under `/v1`, written when its exchange is over: answered, reset, or given up by the client. */
      readonly kind: 'request';
      readonly requestId: string;
      readonly method: string;
      readonly path: string;
      /** null: no status line was sent. */
      readonly status: number | null;
      readonly fault: string | null;
      readonly keyOk: boolean;
      /** The real time of its arrival, in ms since 1970, with fractions. */
      readonly arrivedAt: number;
      readonly durationMs: number;
      /** The reply was not sent whole. */
      readonly aborted: boolean;
      /** The client's own `X-Request-Id`. */
      readonly clientRequestId: string | null;
    }
  | {
      /** A send taken into the world, whatever the client was told about it. */
      readonly kind: 'send.accepted';
      readonly requestId: string;
      /** 1, 2, 3 …: the order of acceptance. */
      readonly sendNumber: number;
      readonly contactId: string;
      readonly phoneNumber: string;
      readonly type: string;
      readonly message: string | null;
      readonly fileUrl: string | null;
      readonly parts: readonly SendPart[];
      /** The message it becomes; two with `splitTextAndFile`. */
      readonly messageIds: readonly string[];
      /** It never becomes listed (`sendLostProbability`). */
      readonly lost: boolean;
    }
  | {
      /** A message is now listed. */
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
      /** `changes` has `id` when the number went on under a new id. */
      readonly kind: 'contact.changed';
      readonly contactId: string;
      readonly revision: number;
      readonly changes: Changes;
    }
  | {
      /**
       * A list as it was put into a reply; together with the `request` entry of the same id (`aborted`, `status`)
       * it says what a client saw. The three arrays run in parallel, in the order of the reply.
       */
      readonly kind: 'list.served';
      readonly requestId: string;
      /** null: the list of contacts. */
      readonly contactId: string | null;
      /** As it was honoured, after caps and quirks; null for the list of contacts. */
      readonly page: number | null;
      readonly limit: number | null;
      readonly ids: readonly string[];
      /** One letter a message: `-` neither, `d` delivered, `r` read, `b` both. Empty for contacts. */
      readonly flags: string;
      /** The revision of each, which goes up by one with each change. */
      readonly revisions: readonly number[];
      /** The fault that spoilt the reply on its way (`poisonMessage` hides or adds an item), or null. */
      readonly damage: string | null;
    }
  | {
      readonly kind: 'simulator.started' | 'simulator.replaced';
      readonly detail: JsonObject;
    };

/** An event with its place in the ledger and the real time, in ms since 1970. */
export type LedgerEntry = LedgerEvent & { readonly index: number; readonly time: number };
