import { isAxiosError } from 'axios';
import { clockOfThisMachine, isRecord, parseRetryAfter, truncateText } from '#platform';
import { GATEWAY_HEADER } from './gateway-header.js';
import {
  UpstreamConnectionLostError,
  UpstreamError,
  UpstreamIsTidingsError,
  UpstreamReplyTooLargeError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '../upstream-error.js';

const MAX_ERROR_MESSAGE_LENGTH = 500;

/**
 * Codes of network errors that usually mean that no connection was established. Some of these errors can also
 * end an established connection.
 */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Matches the codes of decompression errors. Those of Brotli begin with `ERR__ERROR_`, all others with `Z_`. */
const DECOMPRESSION_CODE = /^(?:Z_|ERR__ERROR_)/;

/** Status and headers of a reply. The names of the headers are in lower case. */
export interface ReplyHead {
  status: number;
  headers: Readonly<Record<string, unknown>>;
}

/** What is known of an exchange (a request and its reply) that failed. */
export interface FailedExchange {
  timeoutMs: number;
  timedOut: boolean;
  /**
   * True if a connection was established. If absent, this is derived from `received` and from the code of the error.
   */
  connected?: boolean | undefined;
  /** Maximum size of the reply, in bytes. */
  maxBytes: number;
  /** Number of bytes of the reply's body that were received. If absent, 0. */
  received?: number;
  /** True if the reply's status was 2xx and a part of its body was received. If absent, false. */
  hasBegun?: boolean;
  /** Result of {@link hasKnownEnd} for the reply. If absent, false. */
  hasKnownEnd?: boolean;
}

/**
 * Wraps the error of a budget token renewal that ended a request. HTTP clients pass this error on like an error of
 * the connection, but it says nothing about upstream.
 */
export class BudgetTokenRenewalError extends Error {
  constructor(override readonly cause: unknown) {
    super('the budget token of a request could not be renewed');
  }
}

/**
 * Returns the error for a failed exchange with upstream: an {@link UpstreamError} (`error` itself if it is one), or
 * the unchanged error of the renewal of the budget token if that error prevented the request.
 */
export function toErrorOfExchange(error: unknown, exchange: FailedExchange): unknown {
  const renewalError = isAxiosError(error) ? error.cause : error;
  if (renewalError instanceof BudgetTokenRenewalError) return renewalError.cause;
  if (error instanceof UpstreamError) return error;
  const { timeoutMs, timedOut, connected, maxBytes, received = 0, hasBegun = false } = exchange;
  const code = codeOf(error);
  const reason = code ?? (error instanceof Error ? error.message : 'unknown');
  const wasConnected = received > 0 || (connected ?? (code === undefined || !NEVER_CONNECTED.has(code)));
  if (!wasConnected) {
    const words = timedOut ? `no connection within ${timeoutMs} ms` : reason;
    return new UpstreamUnreachableError(words, { cause: error });
  }
  if (timedOut) return new UpstreamTimeoutError(timeoutMs, { cause: error, hasBegun }, hintOf(received));
  // If a compressed body ends too early, the connection was lost. Exception: if the headers say where the body ends,
  // HTTP clients report a lost connection by another error, so the body itself is invalid.
  if (isDecompressionError(error) && (exchange.hasKnownEnd === true || code !== 'Z_BUF_ERROR'))
    return new UpstreamReplyUnreadableError(`its body cannot be decompressed: ${reason}`, { cause: error });
  if (error instanceof Error && error.message.includes('maxContentLength')) {
    return new UpstreamReplyTooLargeError(maxBytes, 'bytes', { cause: error });
  }
  return new UpstreamConnectionLostError(reason, { cause: error, hasBegun });
}

/** Returns true for an error of Node.js' module `zlib`: a compressed body is not valid. */
export function isDecompressionError(error: unknown): boolean {
  return DECOMPRESSION_CODE.test(codeOf(error) ?? '');
}

/**
 * Returns true if the headers of a reply say where its body ends. If they do not, the body ends with the connection,
 * so that a lost connection looks like the end of the body.
 */
export function hasKnownEnd({ headers }: Pick<ReplyHead, 'headers'>): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/**
 * Creates the error for a reply whose status is not 2xx.
 * @param body text of the reply's body, or the beginning of that text
 */
export function createUpstreamStatusError(
  { status, headers }: ReplyHead,
  body: unknown,
): UpstreamStatusError {
  const retryAfter = parseRetryAfter(headerOf(headers, 'retry-after'), clockOfThisMachine.now());
  return new UpstreamStatusError(status, messageOf(body), retryAfter);
}

/**
 * Status with which a Tidings gateway rejects a request that comes from a Tidings gateway. If upstream answers with
 * this status, the account's upstream address is wrong: it is the address of a gateway, not of the messaging
 * service.
 */
const LOOP_DETECTED = 508;

/**
 * Checks that a reply does not come from a Tidings gateway.
 * @throws {UpstreamIsTidingsError} if the reply comes from a Tidings gateway
 */
export function assertReplyIsNotFromTidings({ status, headers }: ReplyHead): void {
  if (headerOf(headers, GATEWAY_HEADER.name) === undefined) return;
  throw new UpstreamIsTidingsError(status !== LOOP_DETECTED && (status < 400 || status >= 500));
}

export function isSuccessfulReply({ status }: Pick<ReplyHead, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/**
 * Returns the time in the header `Date` of a reply, in milliseconds since 1970. `date` is absent if the header is
 * missing or invalid.
 */
export function parseReplyDate(headers: ReplyHead['headers']): { date?: number } {
  const date = Date.parse(headerOf(headers, 'date') ?? '');
  return Number.isNaN(date) ? {} : { date };
}

function codeOf(error: unknown): string | undefined {
  if (isAxiosError(error)) return error.code;
  // Axios does not wrap an error that occurs while a body is streamed. Such an error has its own `code`.
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function hintOf(received: number): string | undefined {
  return received === 0
    ? undefined
    : `${received} bytes of its reply were received; a reply that takes longer needs a higher UPSTREAM_TIMEOUT_MS`;
}

/**
 * Returns the error message in a reply's body, on one line: the field `message`, `detail` or `error`, or else
 * the whole text. A long message is shortened.
 */
function messageOf(text: unknown): string {
  if (typeof text !== 'string') return '';
  let words = text;
  try {
    const body: unknown = JSON.parse(text);
    const said = isRecord(body)
      ? [body.message, body.detail, body.error].find((part) => typeof part === 'string')
      : undefined;
    words = said ?? text;
  } catch {
    // The body is not JSON: the whole text is the message.
  }
  return truncateText(words.replace(/\s+/g, ' ').trim(), MAX_ERROR_MESSAGE_LENGTH);
}

function headerOf(headers: ReplyHead['headers'], name: string): string | undefined {
  const value: unknown = headers[name];
  return typeof value === 'string' ? value : undefined;
}
