import type { Conversation, Event, Send } from './api-types.js';
import { TidingsConnectionError, TidingsError } from './client-error.js';
import {
  backoffMs,
  isTransientError,
  MAX_RETRY_AFTER_MS,
  pause,
  type RetryingRequester,
} from './retrying-requester.js';

/** Options of {@link Tidings.events}: where the stream starts, which events it returns, and callbacks. */
export interface EventOptions {
  /**
   * The stream starts with the first event after this cursor: {@link EventStream.cursor} of an earlier stream, or
   * `now` for new events only. By default, new events only.
   */
  after?: string | undefined;
  /** Event types or patterns, for example `['message.*']`. By default, all types except `conversation.updated` and
   * `send.updated`. */
  types?: readonly string[] | undefined;
  /** If set, the stream returns only `message.*` and `contact.*` events of this contact. */
  contactId?: string | undefined;
  /**
   * Called with each notification `conversation.updated` or `send.updated`. The gateway sends these notifications
   * only if `types` contains their types. `contactId`, `messageId` and `sendId` do not filter them. The iteration
   * does not return notifications, because they have no cursor.
   */
  onLiveChange?: ((change: LiveChange) => void) | undefined;
  /**
   * Called each time a connection opens. The notifications `conversation.updated` and `send.updated` are lost while
   * no connection is open.
   */
  onConnect?: (() => void) | undefined;
  /** Called each time a connection ends or cannot be opened, before the next attempt. */
  onDisconnect?: (() => void) | undefined;
  /** If set, the stream returns only `message.*` events of this message. */
  messageId?: string | undefined;
  /** If set, the stream returns only events of this send and of its message. */
  sendId?: string | undefined;
  /** When this signal is aborted, the iteration ends without an error. */
  signal?: AbortSignal | undefined;
}

/**
 * A notification about a conversation or a send. The gateway does not store notifications: it sends them only to the
 * streams that are open at the time.
 */
export type LiveChange =
  { type: 'conversation.updated'; data: Conversation } | { type: 'send.updated'; data: SendUpdate };

/**
 * The new status of a send. Ignore an update if an earlier update of the same send had a higher revision.
 */
export interface SendUpdate {
  id: string;
  status: Send['status'];
  reference: string | null;
  revision: number;
}

/**
 * Time without any data after which a stream counts as broken, in milliseconds. The gateway sends a comment
 * after every 15 seconds without an event.
 */
const SILENCE_MS = 45_000;
/**
 * If a connection ends or fails at least this long after it was requested, in milliseconds, the number of successive
 * failures is reset.
 */
const LASTING_MS = 15_000;
/** Maximum length of one event on the stream, in characters. */
const MAX_BLOCK_LENGTH = 64 * 1024 * 1024;

/**
 * The events of the account, oldest first, as an endless iteration. After an interruption, the stream
 * continues after the last event that the iteration returned, so no event is lost or repeated.
 *
 * @example
 * ```ts
 * let after = await loadCursor();
 * if (after === undefined) {
 *   // The first start: from now on, no event is missed, even if the program ends before the first event.
 *   ({ next: after } = (await tidings.call('GET', '/v1/events?after=now')) as EventList);
 *   await saveCursor(after);
 * }
 * const events = tidings.events({ after });
 * for await (const event of events) {
 *   if (event.type === 'message.received') await handle(event);
 *   // After an event of any type: a stored cursor must not become older than the event log.
 *   await saveCursor(events.cursor);
 * }
 * ```
 */
export class EventStream implements AsyncIterable<Event> {
  private last: string | undefined;
  /** How long the gateway asks clients to wait before they open the next stream, in milliseconds. */
  private retryMs = 0;

  constructor(
    private readonly requests: RetryingRequester,
    private readonly options: EventOptions,
  ) {
    this.last = options.after;
  }

  /**
   * Position that the iteration has reached: after the last event that it returned, even while the caller still
   * handles the event. Pass it as `after` to another stream to continue there. Until the gateway has sent an event or
   * a position, the cursor is the option `after`, or undefined if `after` was not set.
   *
   * With a filter, such as {@link EventOptions.types}, the cursor also moves without an event. Then store the cursor
   * at intervals as well, but not while an event is handled.
   */
  get cursor(): string | undefined {
    return this.last;
  }

  /**
   * Iterates over the events. If the connection is interrupted, the iteration tries to open a new connection until
   * it succeeds.
   * @throws {TidingsError} if the gateway rejects the request, for example with the code `cursor_expired`: events
   * after the cursor are no longer kept, so the caller must read what it needs again
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, void> {
    const { signal } = this.options;
    for (let failures = 0; !isAborted(signal); failures += 1) {
      const startedAt = performance.now();
      try {
        for await (const { id, type, data, retryMs } of this.connection()) {
          // After an abort, further events that have already arrived are not returned.
          if (isAborted(signal)) return;
          this.retryMs = retryMs ?? this.retryMs;
          // A position does not reset the failures: each stream begins with a position, even if it is closed at once.
          if (data !== undefined) failures = -1;
          if (id === undefined) {
            if (data !== undefined) this.options.onLiveChange?.({ type, data } as LiveChange);
            continue;
          }
          this.last = id;
          if (data !== undefined) yield data as Event;
        }
        // The gateway closed the stream. If the stream was short and brought no event, the client waits longer each
        // time, because the gateway may close the next stream at once, too.
        this.options.onDisconnect?.();
        if (hasLasted(startedAt)) failures = -1;
        const waitMs = Math.max(this.retryMs, failures < 0 ? 0 : backoffMs(failures));
        await pause(Math.min(waitMs, MAX_RETRY_AFTER_MS), signal);
      } catch (error) {
        if (isAborted(signal)) return;
        if (!isTransientError(error)) throw error;
        this.options.onDisconnect?.();
        if (hasLasted(startedAt)) failures = -1;
        const backoff = backoffMs(failures);
        const waitMs =
          error instanceof TidingsError ? (error.retryAfterMs ?? backoff) : Math.max(this.retryMs, backoff);
        await pause(Math.min(waitMs, MAX_RETRY_AFTER_MS), signal).catch(() => undefined);
      }
    }
  }

  /** Opens one connection, and yields the entries of the stream until the connection ends. */
  private async *connection(): AsyncGenerator<StreamEntry, void, void> {
    const { signal } = this.options;
    const closing = new AbortController();
    const close = (): void => {
      closing.abort();
    };
    if (isAborted(signal)) return;
    signal?.addEventListener('abort', close, { once: true });
    try {
      yield* this.entriesOf(await this.open(closing.signal));
    } finally {
      // Closes the connection, even if the caller leaves the loop early.
      signal?.removeEventListener('abort', close);
      close();
    }
  }

  private open(signal: AbortSignal): Promise<Response> {
    const { types, contactId, messageId, sendId } = this.options;
    return this.requests.open({
      method: 'GET',
      path: '/v1/events/stream',
      query: { after: this.last, types: types?.join(','), contactId, messageId, sendId },
      headers: { Accept: 'text/event-stream' },
      isRepeatable: true,
      signal,
    });
  }

  private async *entriesOf(response: Response): AsyncGenerator<StreamEntry, void, void> {
    this.options.onConnect?.();
    const body: ReadableStream<Uint8Array> | null = response.body;
    const reader = body?.getReader();
    if (reader === undefined) throw new TidingsConnectionError('the event stream has no body');
    try {
      const decoder = new TextDecoder();
      let text = '';
      for (;;) {
        const { done, value } = await withinSilence(reader.read());
        if (done) return;
        text += decoder.decode(value, { stream: true });
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        if (text.length > MAX_BLOCK_LENGTH)
          throw new TidingsConnectionError('an event on the event stream is too long');
        for (const block of blocks) {
          const entry = parseBlock(block);
          if (entry !== undefined) yield entry;
        }
      }
    } catch (error) {
      if (error instanceof TidingsConnectionError) throw error;
      throw new TidingsConnectionError('the event stream was interrupted', { cause: error });
    }
  }
}

/**
 * Returns true if a connection was requested at least {@link LASTING_MS} ago.
 * @param startedAt `performance.now()` then
 */
function hasLasted(startedAt: number): boolean {
  return performance.now() - startedAt >= LASTING_MS;
}

/**
 * One entry of the stream: an event in `data`, and the cursor after this event in `id`. If the gateway
 * reports only the position of the stream, `data` is undefined. A `conversation.updated` or `send.updated`
 * notification has no `id`. `retryMs` is the wait before the next stream, in milliseconds, if the entry sets it.
 */
interface StreamEntry {
  id: string | undefined;
  type: string | undefined;
  data: unknown;
  retryMs: number | undefined;
}

/** Parses one block of server-sent events. Returns undefined for a block without usable fields, such as a comment. */
function parseBlock(block: string): StreamEntry | undefined {
  let [id, type]: (string | undefined)[] = [];
  let retryMs: number | undefined;
  let data = '';
  for (const line of block.split('\n')) {
    if (line.startsWith('id:')) id = line.slice('id:'.length).trim();
    else if (line.startsWith('event:')) type = line.slice('event:'.length).trim();
    else if (line.startsWith('data:')) data += line.slice('data:'.length);
    else if (/^retry: ?\d+$/.test(line)) retryMs = Number(line.slice('retry:'.length));
  }
  if (id === '') id = undefined;
  const hasData = data.trim() !== '' && (id !== undefined || type !== undefined);
  if (!hasData && id === undefined && retryMs === undefined) return undefined;
  return { id, type, data: hasData ? (JSON.parse(data) as unknown) : undefined, retryMs };
}

async function withinSilence<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TidingsConnectionError(`the event stream was silent for ${SILENCE_MS} ms`));
    }, SILENCE_MS);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns true if the signal is aborted. Without this function, TypeScript would assume that `signal.aborted`
 * is still false after the first check.
 */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
