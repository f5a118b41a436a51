import type { Problem } from './api-types.js';
import { TidingsConnectionError, TidingsError } from './client-error.js';
import { TimeLimit } from './time-limit.js';

/** Options of a client's requests: the gateway's address, authentication, time limit and retries. */
export interface ConnectionOptions {
  /** Address of the gateway, for example `https://tidings.internal`. */
  baseUrl: string;
  /** Sent with each request in the header `X-API-Key`. Not needed if `headers` authenticate the requests. */
  apiKey?: string | undefined;
  /** Headers of each request, for example `{ Authorization: 'Bearer …' }` for a token in a browser. */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Time after which an attempt without a complete answer is aborted, in milliseconds. On an event stream, the limit
   * applies only to the beginning of the answer. Default: 40,000; with a file, 300,000.
   */
  timeoutMs?: number;
  /**
   * Maximum number of retries of one request, in addition to its first attempt. Event streams reconnect without a
   * limit. Default: 4.
   */
  maxRetries?: number;
  /** Function to use instead of the global `fetch`. */
  fetch?: typeof fetch;
}

/** One request to the gateway. */
export interface ClientRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with percent-encoded segments, for example `/v1/sends/snd_1`. */
  path: string;
  query?: Readonly<Record<string, string | number | undefined>> | undefined;
  /** `FormData` is sent as a form, any other object as JSON. */
  body?: object | undefined;
  headers?: Readonly<Record<string, string>>;
  /** True if the request may be repeated after an attempt whose outcome is not known. */
  isRepeatable: boolean;
  /** Aborts the request and its retries. */
  signal?: AbortSignal | undefined;
}

/** Default of `timeoutMs`. It is longer than 30 s, the longest wait for events that a request can ask for. */
const DEFAULT_TIMEOUT_MS = 40_000;
/** Default of `timeoutMs` for a request with a file: the time that the gateway allows for an upload. */
const DEFAULT_UPLOAD_TIMEOUT_MS = 300_000;
const DEFAULT_MAX_RETRIES = 4;
/**
 * Maximum wait before the first retry, in milliseconds. This maximum doubles with each further retry, up to
 * {@link MAX_WAIT_MS}. The actual wait is random, so that clients do not all retry at the same time.
 */
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/**
 * Longest time that the client waits because the gateway asks for it, in milliseconds: in a header `Retry-After`, or
 * in the field `retry` of an event stream. If the gateway asks for more, a request is not retried, and an event
 * stream reconnects after this time.
 */
export const MAX_RETRY_AFTER_MS = 60_000;

/** Statuses that mean that the gateway has not executed the request. */
const NOT_DONE: ReadonlySet<number> = new Set([429]);
/** Statuses after which a repeatable request is retried. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Makes requests to the gateway, and retries failed requests where that is safe. */
export class RetryingRequester {
  private readonly maxRetries: number;

  /** @throws {TypeError} if `apiKey` or `headers` cannot be sent */
  constructor(private readonly options: ConnectionOptions) {
    this.maxRetries = options.maxRetries ?? DEFAULT_MAX_RETRIES;
    assertHeaders('The API key', { 'X-API-Key': options.apiKey ?? '' });
    assertHeaders('A header of the option `headers`', options.headers ?? {});
  }

  /**
   * Returns the JSON of the answer, or undefined for an empty answer.
   * @throws {TidingsError | TidingsConnectionError} after the last attempt
   * @throws {TypeError} if the request cannot be sent; nothing was sent then
   * @throws the reason of `signal` if the signal is aborted
   */
  async json(request: ClientRequest): Promise<unknown> {
    return await this.run(request, async (response) => {
      const text = await response.text();
      try {
        return text === '' ? undefined : (JSON.parse(text) as unknown);
      } catch (cause) {
        throw new Error('the body is not JSON', { cause });
      }
    });
  }

  /**
   * Makes a request, with retries if necessary, and returns the result of calling `read` with the answer.
   * @throws the same errors as {@link json}
   */
  async run<T>(request: ClientRequest, read: (response: Response) => Promise<T>): Promise<T> {
    let mayHaveBeenExecuted = false;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.attempt(request, read);
      } catch (error) {
        request.signal?.throwIfAborted();
        mayHaveBeenExecuted ||= isOutcomeUnknown(error);
        if (error instanceof TidingsError) error.mayHaveBeenExecuted = mayHaveBeenExecuted;
        const waitMs = waitBefore(error, request.isRepeatable, attempt);
        if (waitMs === undefined || attempt >= this.maxRetries) throw error;
        await pause(waitMs, request.signal);
      }
    }
  }

  /**
   * Makes one attempt, and returns the answer before its body is read. The time limit does not apply to the
   * body of a successful answer, because that body may be endless.
   * @throws {TidingsError | TidingsConnectionError} if there is no successful answer, also if `signal` is aborted
   * @throws {TypeError} if the request cannot be sent; nothing was sent then
   */
  async open(request: ClientRequest): Promise<Response> {
    const limit = this.timeLimitOf(request);
    try {
      return await succeeded(await this.fetch(request, limit.signal));
    } finally {
      limit.clearTimer();
    }
  }

  private timeoutOf({ body }: ClientRequest): number {
    const byDefault = body instanceof FormData ? DEFAULT_UPLOAD_TIMEOUT_MS : DEFAULT_TIMEOUT_MS;
    return this.options.timeoutMs ?? byDefault;
  }

  private async attempt<T>(request: ClientRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const limit = this.timeLimitOf(request);
    try {
      const response = await succeeded(await this.fetch(request, limit.signal));
      try {
        return await read(response);
      } catch (error) {
        throw this.connectionError(request, error);
      }
    } finally {
      limit.release();
    }
  }

  private timeLimitOf(request: ClientRequest): TimeLimit {
    const timeoutMs = this.timeoutOf(request);
    return new TimeLimit(timeoutMs, `no answer within ${timeoutMs} ms`, request.signal);
  }

  private async fetch(request: ClientRequest, signal: AbortSignal): Promise<Response> {
    const { method, path, query = {}, body, headers } = request;
    const url = new URL(this.options.baseUrl.replace(/\/+$/, '') + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const isForm = body instanceof FormData;
    // An error before the `try` means that nothing was sent. It must not look like a request without an answer.
    const init: RequestInit = {
      method,
      headers: {
        ...(this.options.apiKey === undefined ? {} : { 'X-API-Key': this.options.apiKey }),
        ...this.options.headers,
        ...(body === undefined || isForm ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : jsonText(body) }),
      redirect: 'error',
      signal,
    };
    try {
      return await (this.options.fetch ?? fetch)(url, init);
    } catch (error) {
      throw this.connectionError(request, error);
    }
  }

  private connectionError({ method, path }: ClientRequest, cause: unknown): TidingsConnectionError {
    const { origin } = new URL(this.options.baseUrl);
    return new TidingsConnectionError(
      `${method} ${path} got no answer from the gateway at ${origin}: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

/**
 * Checks that headers can be sent. Without this check, the error of `fetch` could quote a secret, and would look like
 * a request without an answer.
 * @param subject subject of the error message, for example `The API key`
 * @throws {TypeError} if a header cannot be sent
 */
export function assertHeaders(subject: string, headers: Readonly<Record<string, string>>): void {
  try {
    new Headers(headers);
  } catch {
    throw new TypeError(
      `${subject} contains a line break or another character that cannot be sent in an HTTP header.`,
    );
  }
}

/** Returns a value as JSON. @throws {TypeError} if that is impossible; its message does not quote the value */
export function jsonText(value: object): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new TypeError(
      'The request contains a value that JSON cannot represent, such as a BigInt or a reference to itself.',
      { cause },
    );
  }
}

/**
 * Resolves after `ms` milliseconds. If the signal is aborted, rejects with its reason, or with another error if the
 * reason is not an Error.
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    if (signal?.aborted === true) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** Returns true if the gateway may have executed, or be executing, a request that failed with this error. */
function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof TidingsError)) return true;
  // `unexpected`: another server answered, such as a proxy, so the gateway may or may not have got the request.
  return error.status >= 500 || error.code === 'idempotency_in_progress' || error.code === 'unexpected';
}

/**
 * Returns true if the same request may succeed later: after a connection error, or an answer with one of
 * {@link TRANSIENT_STATUSES}.
 */
export function isTransientError(error: unknown): boolean {
  if (error instanceof TidingsConnectionError) return true;
  return error instanceof TidingsError && TRANSIENT_STATUSES.has(error.status);
}

/**
 * Returns how long to wait before a retry, in milliseconds: a random time, see {@link FIRST_WAIT_MS}.
 * @param attempt 0 for the first retry; -1 halves the wait of the first retry
 */
export function backoffMs(attempt: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS) * (0.5 + Math.random() / 2);
}

/**
 * Returns the wait before the next attempt, in milliseconds, or undefined if the request must not be retried.
 */
function waitBefore(error: unknown, isRepeatable: boolean, attempt: number): number | undefined {
  if (error instanceof TidingsConnectionError) return isRepeatable ? backoffMs(attempt) : undefined;
  if (!(error instanceof TidingsError)) return undefined;
  const { status, code, retryAfterMs } = error;
  const isRetried =
    NOT_DONE.has(status) ||
    (isRepeatable && (TRANSIENT_STATUSES.has(status) || code === 'idempotency_in_progress'));
  if (!isRetried || (retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) return undefined;
  return retryAfterMs ?? backoffMs(attempt);
}

/** Returns the response if its status is 2xx. @throws {TidingsError} */
async function succeeded(response: Response): Promise<Response> {
  if (response.ok) return response;
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  let problem: Partial<Problem> = {};
  try {
    const body: unknown = await response.json();
    if (typeof body === 'object' && body !== null) problem = body;
  } catch {
    // The body is incomplete or not JSON, for example because a proxy answered. So `problem` stays empty.
  }
  throw new TidingsError(response.status, problem, Number.isFinite(seconds) ? seconds * 1_000 : undefined);
}

/**
 * Returns the reason why there is no answer. In Node.js, the error of `fetch` contains the reason in `cause`, in some
 * cases only as `cause.code`.
 */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(error instanceof TypeError) || !(cause instanceof Error)) return error.message;
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}
