import type {
  Contact,
  Delivery,
  DeliveryList,
  Message,
  MessageList,
  NewSend,
  QueuedSend,
  Send,
  SendList,
} from './api-types.js';
import { TidingsConnectionError, TidingsError } from './client-error.js';
import { EventStream, type EventOptions } from './event-stream.js';
import {
  assertHeaders,
  type ConnectionOptions,
  isTransientError,
  jsonText,
  pause,
  RetryingRequester,
} from './retrying-requester.js';
import { TimeLimit } from './time-limit.js';

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call and its retries. */
  signal?: AbortSignal;
}

/** Options of {@link Tidings.send}. */
export interface SendOptions extends CallOptions {
  /**
   * Makes the call safe to repeat, even from another process: several calls with the same key and the same
   * content create only one send while the gateway keeps the key (`EVENT_RETENTION_HOURS`, at least 24 hours). By
   * default, each call uses a new key for all its attempts. If the call fails, its error contains the key.
   */
  idempotencyKey?: string;
  /**
   * A file to send. In Node.js, `await fs.openAsBlob(path, { type })` returns a file whose content is read only while
   * it is being sent, so that it is never in memory as a whole. Its media type is `type`.
   */
  file?: Blob;
  /** File name that the recipient sees. Default: the name of a `File`, otherwise `file`. */
  fileName?: string;
}

/** Options of {@link Tidings.sends}: which sends it returns. */
export interface SendFilter extends CallOptions {
  status?: Send['status'];
  reference?: string;
  phoneNumber?: string;
}

/** Options of {@link Tidings.deliveries}: which deliveries it returns. */
export interface DeliveryFilter extends CallOptions {
  status?: Delivery['status'];
  /**
   * Selects deliveries that finished at this time or later, and pending deliveries that were created at this time
   * or later.
   */
  since?: Date;
  webhookId?: string;
  /** Id of the event whose deliveries are selected. An event has at most one delivery per webhook. */
  eventId?: string;
}

/** Options of {@link Tidings.waitFor}. */
export interface WaitOptions extends CallOptions {
  /**
   * How long {@link Tidings.waitFor} waits for a send to reach the status before it throws an error, in milliseconds.
   * The last read of the send may end up to one second later. Default: 300,000.
   */
  timeoutMs?: number;
}

/** The statuses that {@link Tidings.waitFor} can wait for, in the order in which a send reaches them. */
export type AwaitedStatus = (typeof PROGRESS)[number];

const PROGRESS = ['accepted', 'sent', 'delivered', 'read'] as const;
/** Statuses at which {@link Tidings.waitFor} throws an error: the send has ended, or its outcome is unknown. */
const ENDED: ReadonlySet<string> = new Set(['failed', 'expired', 'cancelled', 'unknown']);
const DEFAULT_WAIT_MS = 300_000;
const FIRST_CHECK_MS = 250;
const MAX_CHECK_MS = 3_000;
/** Time that {@link Tidings.waitFor} allows for reading the send after `timeoutMs`, in milliseconds. */
const LAST_READ_MS = 1_000;
const PAGE = 100;
const MESSAGES_PER_PAGE = 20;
/** {@link Tidings.messages} ends after this many successive pages whose messages were all on the previous page. */
const MAX_REPEATED_PAGES = 2;
/** Fields of the messaging service's reply that may contain the list of contacts, in the order of preference. */
const LIST_NAMES = ['contacts', 'data', 'items', 'results'];

/** Limits on how long {@link Tidings.waitFor} waits for a send and reads it. */
interface ReadLimits {
  timeoutMs: number;
  /** End of `timeoutMs`, in milliseconds on the clock of `performance.now()`. */
  deadline: number;
  /** Aborts the reads when the caller aborts, or when `timeoutMs` and then {@link LAST_READ_MS} have passed. */
  limit: AbortSignal;
  /** The caller's signal. */
  signal: AbortSignal | undefined;
}

/** Thrown by {@link Tidings.waitFor} if the send does not reach the awaited status. */
export class SendStatusNotReachedError extends Error {
  constructor(
    /** The send as {@link Tidings.waitFor} last read it. */
    readonly send: Send,
    status: AwaitedStatus,
    why: string,
  ) {
    super(`The send ${send.id} is ${send.status}, not ${status}: ${why}`);
    this.name = 'SendStatusNotReachedError';
  }
}

/**
 * A client of the Tidings gateway. Failed calls are retried where that is safe: reads, sends (which have an
 * idempotency key), and every call that the gateway rejects with status 429. If the gateway asks for a wait of more
 * than 60 seconds, a call is not retried.
 *
 * @example
 * ```ts
 * const tidings = new Tidings({ baseUrl: 'http://127.0.0.1:3000', apiKey: process.env.TIDINGS_KEY ?? '' });
 * const queued = await tidings.send({ phoneNumber: '+15551230001', message: 'Your parcel is here.' });
 * const send = await tidings.waitFor(queued, 'delivered');
 * ```
 */
export class Tidings {
  private readonly requests: RetryingRequester;

  constructor(options: ConnectionOptions) {
    this.requests = new RetryingRequester(options);
  }

  /**
   * Sends a text, a file or both. When the promise resolves, the gateway has stored the send and will relay it.
   *
   * @example
   * ```ts
   * const file = await openAsBlob('receipt.pdf', { type: 'application/pdf' });
   * await tidings.send({ phoneNumber, message: 'Your receipt' }, { file, fileName: 'receipt.pdf' });
   * ```
   * @throws {TidingsError | TidingsConnectionError} also if `signal` is aborted, because the gateway may have stored
   * the send
   * @throws {TypeError} if the idempotency key or a value of the send cannot be sent; nothing was sent then
   */
  async send(send: NewSend, options: SendOptions = {}): Promise<QueuedSend> {
    const { idempotencyKey = newIdempotencyKey(), file, fileName, signal } = options;
    assertHeaders('The idempotency key', { 'Idempotency-Key': idempotencyKey });
    try {
      const path = '/v1/messages/send';
      const queued = await this.requests.json({
        method: 'POST',
        path,
        body: file === undefined ? send : formOf(send, file, fileName),
        headers: { 'Idempotency-Key': idempotencyKey },
        isRepeatable: true,
        signal,
      });
      return answerWith<QueuedSend>('id', queued, `POST ${path}`);
    } catch (error) {
      const isAnswer = error instanceof TidingsError || error instanceof TidingsConnectionError;
      if (!isAnswer && signal?.aborted !== true) throw error;
      const failure = isAnswer
        ? error
        : new TidingsConnectionError('the send was aborted before the gateway confirmed it', {
            cause: error,
          });
      failure.idempotencyKey = idempotencyKey;
      throw failure;
    }
  }

  /**
   * Returns a send with its status.
   * @throws {TidingsError} with the code `not_found` if no send has this id
   */
  async getSend(id: string, { signal }: CallOptions = {}): Promise<Send> {
    return (await this.get(`/v1/sends/${encodeURIComponent(id)}`, {}, signal)) as Send;
  }

  /**
   * Cancels a scheduled or queued send.
   * @throws {TidingsError} with the code `conflict` if the send can no longer be cancelled
   */
  async cancelSend(id: string, { signal }: CallOptions = {}): Promise<Send> {
    return (await this.requests.json({
      method: 'POST',
      path: `/v1/sends/${encodeURIComponent(id)}/cancel`,
      isRepeatable: false,
      signal,
    })) as Send;
  }

  /**
   * Iterates over the sends, newest first. Pages are read as they are needed.
   *
   * @example
   * ```ts
   * for await (const send of tidings.sends({ status: 'unknown' })) console.log(send.id, send.reason);
   * ```
   */
  async *sends({ signal, ...filter }: SendFilter = {}): AsyncGenerator<Send, void, void> {
    for (let cursor: string | undefined; ;) {
      const answer = await this.get('/v1/sends', { ...filter, limit: PAGE, cursor }, signal);
      const page = answerWith<SendList>('sends', answer, 'GET /v1/sends');
      yield* page.sends;
      if (page.next === null) return;
      cursor = page.next;
    }
  }

  /**
   * Waits until a send has reached the given status, or a later one in the order `accepted`, `sent`,
   * `delivered`, `read`. The wait continues while the gateway cannot be reached, or answers with one of the statuses
   * 429, 500, 502, 503 and 504.
   * @throws {SendStatusNotReachedError} if the send gets the status `failed`, `expired`, `cancelled` or `unknown`, or
   * after `timeoutMs`
   * @throws {TidingsError | TidingsConnectionError} if the gateway answers with another error status, or if the send
   * could not be read even once within `timeoutMs`
   * @throws the reason of `signal` if the signal is aborted
   */
  async waitFor(
    { id }: Pick<Send, 'id'>,
    status: AwaitedStatus,
    { timeoutMs = DEFAULT_WAIT_MS, signal }: WaitOptions = {},
  ): Promise<Send> {
    const deadline = performance.now() + timeoutMs;
    const limitMs = Math.ceil(timeoutMs) + LAST_READ_MS;
    const limit = new TimeLimit(limitMs, `no answer within ${limitMs} ms`, signal);
    try {
      return await this.readUntil(id, status, { timeoutMs, deadline, limit: limit.signal, signal });
    } finally {
      limit.release();
    }
  }

  private async readUntil(
    id: string,
    status: AwaitedStatus,
    { timeoutMs, deadline, limit, signal }: ReadLimits,
  ): Promise<Send> {
    let send: Send | undefined;
    for (let waitMs = FIRST_CHECK_MS; ; waitMs = Math.min(waitMs * 1.5, MAX_CHECK_MS)) {
      const isLast = performance.now() >= deadline;
      try {
        send = await this.getSend(id, { signal: limit });
        const reached = PROGRESS.findIndex((each) => each === send?.status);
        if (reached >= PROGRESS.indexOf(status)) return send;
        if (ENDED.has(send.status))
          throw new SendStatusNotReachedError(send, status, send.reason ?? 'it has ended');
      } catch (error) {
        signal?.throwIfAborted();
        if (limit.aborted && send === undefined)
          throw new TidingsConnectionError(`the send ${id} could not be read within ${timeoutMs} ms`, {
            cause: error,
          });
        if (!limit.aborted && (!isTransientError(error) || (isLast && send === undefined))) throw error;
      }
      if ((isLast || limit.aborted) && send !== undefined)
        throw new SendStatusNotReachedError(send, status, `${timeoutMs} ms have passed`);
      // The last wait ends at the deadline, so that the send is read once more at the deadline.
      await pause(Math.min(waitMs, Math.max(Math.ceil(deadline - performance.now()), 0)), signal);
    }
  }

  /**
   * Iterates over the contacts of the messaging service.
   * @throws {Error} also if the reply contains no list of contacts
   */
  async *contacts({ signal }: CallOptions = {}): AsyncGenerator<Contact, void, void> {
    yield* contactsIn(await this.get('/v1/contacts', {}, signal));
  }

  /**
   * Iterates over the messages of a contact, in the order in which the messaging service lists them. Pages are read
   * as they are needed. The page limit is 20, the documented default, because the service may refuse a higher limit.
   * Elements that are no objects, and messages that were also on the previous page, are left out. The iteration ends
   * at an empty page, at status 404 for a page after the first one, or after two pages in a row of which everything
   * was left out.
   */
  async *messages(contactId: string, { signal }: CallOptions = {}): AsyncGenerator<Message, void, void> {
    const path = `/v1/contacts/${encodeURIComponent(contactId)}/messages`;
    let before: ReadonlySet<unknown> = new Set();
    let repeats = 0;
    for (let page = 1; ; page += 1) {
      const messages = await this.messagesOn(path, page, signal);
      // A short page need not be the last one: the messaging service may return fewer messages than requested.
      if (messages.length === 0) return;
      // New messages may have moved messages of the previous page to this one.
      const others = messages.filter((one) => isObject(one) && !before.has(one.id));
      // One repeated page is not the end: the list may have grown by a whole page. Two repeated pages show that the
      // service ignores page numbers, or returns the last page again and again.
      repeats = others.length === 0 ? repeats + 1 : 0;
      if (repeats === MAX_REPEATED_PAGES) return;
      yield* others;
      before = new Set(messages.map((one) => fieldOf(one, 'id')));
    }
  }

  private async messagesOn(
    path: string,
    page: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly Message[]> {
    try {
      const answer = await this.get(path, { page, limit: MESSAGES_PER_PAGE }, signal);
      return answerWith<MessageList>('messages', answer, `GET ${path}`).messages;
    } catch (error) {
      // Some messaging services answer 404 to a request for a page after the last one.
      if (page > 1 && error instanceof TidingsError && error.status === 404) return [];
      throw error;
    }
  }

  /** Follows the events of the account; see {@link EventStream}. */
  events(options: EventOptions = {}): EventStream {
    return new EventStream(this.requests, options);
  }

  /**
   * Iterates over the deliveries of all webhooks, or over those that the filter selects, newest first. Pages are read
   * as they are needed.
   *
   * @example
   * ```ts
   * const since = new Date(Date.now() - 3_600_000);
   * for await (const delivery of tidings.deliveries({ status: 'failed', since })) console.log(delivery.reason);
   * ```
   */
  async *deliveries({ signal, since, ...filter }: DeliveryFilter = {}): AsyncGenerator<Delivery, void, void> {
    for (let cursor: string | undefined; ;) {
      const query = { ...filter, since: since?.toISOString(), limit: PAGE, cursor };
      const answer = await this.get('/v1/deliveries', query, signal);
      const page = answerWith<DeliveryList>('deliveries', answer, 'GET /v1/deliveries');
      yield* page.deliveries;
      if (page.next === null) return;
      cursor = page.next;
    }
  }

  /**
   * Calls any operation of the API and returns the JSON of its answer, or undefined if the answer is empty. A GET
   * request is retried after a connection error and after the statuses 429, 500, 502, 503 and 504. Any other request
   * is retried only after status 429, which means that the gateway has not executed the request.
   *
   * @example
   * ```ts
   * const webhook = (await tidings.call('POST', '/v1/webhooks', { url })) as CreatedWebhook;
   * ```
   */
  async call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    { signal }: CallOptions = {},
  ): Promise<unknown> {
    return await this.requests.json({ method, path, body, isRepeatable: method === 'GET', signal });
  }

  private async get(
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    return await this.requests.json({ method: 'GET', path, query, isRepeatable: true, signal });
  }
}

/**
 * Returns a new key for {@link SendOptions.idempotencyKey}. Does not use `crypto.randomUUID`, which browsers lack on
 * pages without HTTPS.
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Returns the list of contacts. With `CONTACTS_SHAPE=upstream`, the gateway passes on the messaging service's reply.
 * The reply may be the list itself, or contain the list in one of the fields {@link LIST_NAMES}, or contain in such a
 * field an object whose field `contacts` is the list.
 * @throws {Error} if there is no list
 */
function contactsIn(reply: unknown): readonly Contact[] {
  const envelopes = LIST_NAMES.map((name) => fieldOf(reply, name));
  const lists = [reply, ...envelopes.flatMap((inner) => [inner, fieldOf(inner, 'contacts')])];
  const list = lists.find((each) => Array.isArray(each));
  if (list === undefined) throw new Error('The reply to GET /v1/contacts contains no list of contacts.');
  return list as Contact[];
}

/**
 * Checks that an answer to `request` comes from a Tidings gateway, and returns the answer with its type.
 * @param field a field that each answer to this request has
 * @throws {TidingsConnectionError} if the field is missing, which means that another service has answered
 */
function answerWith<T extends object>(field: keyof T & string, answer: unknown, request: string): T {
  if (isObject(answer) && field in answer) return answer as T;
  throw new TidingsConnectionError(`the answer to ${request} is not that of a Tidings gateway`);
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? (value as Record<string, unknown>)[name] : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function formOf(send: NewSend, file: Blob, fileName = file instanceof File ? file.name : 'file'): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(send)) {
    if (value === undefined || value === null) continue;
    form.append(field, typeof value === 'string' ? value : jsonText(value));
  }
  form.append('file', file, fileName);
  return form;
}
