import { type AxiosResponse, isAxiosError } from 'axios';
import { parseRetryAfter, systemClock } from '#platform';
import { GATEWAY_MARK } from './gateway-mark.js';
import { isRecord } from '../reply/message.js';
import {
  UpstreamConnectionLostError,
  UpstreamError,
  UpstreamIsGatewayError,
  UpstreamReplyTooLargeError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '../upstream-error.js';

const LONGEST_WORDS = 500;

/** Errors of the network that mostly come before any connection stood; an old one can end with some of them, too. */
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** What is known of an exchange that failed. */
export interface FailedExchange {
  timeoutMs: number;
  timedOut: boolean;
  /** Absent where it is not known, and nothing hangs on it; then the error is taken at its word. */
  connected?: boolean | undefined;
  /** The bound of the reply, in bytes. */
  maxBytes: number;
  /** Bytes of the reply's body that came. */
  received?: number;
}

/** The error of an exchange that did not come to a whole reply. */
export function failureOf(error: unknown, exchange: FailedExchange): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const { timeoutMs, timedOut, connected, maxBytes, received = 0 } = exchange;
  const code = codeOf(error);
  const reason = code ?? (error instanceof Error ? error.message : 'unknown');
  const stood = received > 0 || (connected ?? (code === undefined || !NEVER_CONNECTED.has(code)));
  if (!stood) {
    const words = timedOut ? `no connection within ${timeoutMs} ms` : reason;
    return new UpstreamUnreachableError(words, { cause: error });
  }
  if (timedOut) return new UpstreamTimeoutError(timeoutMs, { cause: error }, hintOf(received));
  if (error instanceof Error && error.message.includes('maxContentLength')) {
    return new UpstreamReplyTooLargeError(maxBytes, 'bytes', { cause: error });
  }
  return new UpstreamConnectionLostError(reason, { cause: error });
}

/** @param body as text, or the beginning of it */
export function statusErrorOf({ status, headers }: AxiosResponse, body: unknown): UpstreamStatusError {
  const retryAfter = parseRetryAfter(headerOf(headers, 'retry-after'), systemClock.now());
  return new UpstreamStatusError(status, wordsOf(body), retryAfter);
}

/** With this status a gateway refuses what another one asks of it. */
const LOOP_DETECTED = 508;

/** @throws {UpstreamIsGatewayError} for the reply of a Tidings gateway */
export function assertNotGateway({ status, headers }: AxiosResponse): void {
  if (headerOf(headers, GATEWAY_MARK.name) === undefined) return;
  throw new UpstreamIsGatewayError(status !== LOOP_DETECTED && (status < 400 || status >= 500));
}

export function isSuccess({ status }: AxiosResponse): boolean {
  return status >= 200 && status < 300;
}

export function dateOf(headers: AxiosResponse['headers']): { date?: number } {
  const date = Date.parse(headerOf(headers, 'date') ?? '');
  return Number.isNaN(date) ? {} : { date };
}

function codeOf(error: unknown): string | undefined {
  if (isAxiosError(error)) return error.code;
  // Of a body that is read by ourselves.
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function hintOf(received: number): string | undefined {
  return received === 0
    ? undefined
    : `${received} bytes of its reply came; a reply that takes longer needs a higher UPSTREAM_TIMEOUT_MS`;
}

/** What an error body says, for people: its `message`, `error` or `detail`, else its text; on one line. */
function wordsOf(text: unknown): string {
  if (typeof text !== 'string') return '';
  let words = text;
  try {
    const body: unknown = JSON.parse(text);
    const said = isRecord(body)
      ? [body.message, body.detail, body.error].find((part) => typeof part === 'string')
      : undefined;
    words = said ?? text;
  } catch {
    // Not JSON: its text is all there is.
  }
  return words.replace(/\s+/g, ' ').trim().slice(0, LONGEST_WORDS);
}

function headerOf(headers: AxiosResponse['headers'], name: string): string | undefined {
  const value: unknown = headers[name];
  return typeof value === 'string' ? value : undefined;
}
