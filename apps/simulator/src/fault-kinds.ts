import type { Check } from './checks.js';
import { flag, json, oneOf, orNull, text, whole, word } from './checks.js';
import { Input } from './input.js';
import type { Json } from './json.js';
import { isObject } from './json.js';
import { InvalidInput } from './refusals.js';

/**
 * What can go wrong with one request. `processed`: the request was carried out all the same (a send is accepted),
 * only the client does not get to see it.
 */
export type Fault =
  /** `statusAfter` is `status` with `processed`. */
  | StatusFault
  /** The connection stays open and silent. */
  | { readonly kind: 'timeoutBefore' | 'timeoutAfter' }
  /** The socket is torn down with a RST. */
  | { readonly kind: 'resetBefore' | 'resetAfter' }
  /** RST while the client is still sending its body; never processed. */
  | { readonly kind: 'resetDuringUpload' }
  /** An HTML page where JSON belongs, as from a proxy. */
  | { readonly kind: 'html'; readonly status: number; readonly processed: boolean }
  | { readonly kind: 'emptyObject'; readonly processed: boolean }
  | { readonly kind: 'errorBody200'; readonly body: Json; readonly processed: boolean }
  /** The true reply, half of it: as a whole reply (`body`), or with the connection cut in its middle. */
  | { readonly kind: 'truncatedJson'; readonly cut: 'body' | 'connection' }
  /** Waits, before it carries the request out or (`processedFirst`) after; a client that left changes nothing. */
  | { readonly kind: 'slow'; readonly delayMs: number; readonly processedFirst: boolean }
  /** The true reply, a few bytes at a time. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly intervalMs: number }
  /** The first text of the reply holds bytes that are not UTF-8. */
  | { readonly kind: 'invalidUtf8' }
  /** One element of the list is not what it should be; `replace` hides the true one. */
  | {
      readonly kind: 'poisonMessage';
      readonly garbage: 'null' | 'number' | 'string' | 'array' | 'noId';
      readonly position: number;
      readonly mode: 'replace' | 'insert';
    };

export interface StatusFault {
  readonly kind: 'status' | 'statusAfter';
  readonly status: number;
  /** Seconds, or the text of a date. */
  readonly retryAfter: string | null;
  readonly body: Json;
  readonly contentType: string;
  readonly location: string | null;
  readonly processed: boolean;
}

export type FaultKind = Fault['kind'];

const KINDS = [
  'status',
  'statusAfter',
  'timeoutBefore',
  'timeoutAfter',
  'resetBefore',
  'resetAfter',
  'resetDuringUpload',
  'html',
  'emptyObject',
  'errorBody200',
  'truncatedJson',
  'slow',
  'drip',
  'invalidUtf8',
  'poisonMessage',
] as const satisfies readonly FaultKind[];

/** Reads a fault: its bare name, or an object with `kind` and the fields of that kind. @throws InvalidInput */
export function readFault(value: unknown, field: string): Fault {
  if (typeof value !== 'string' && !isObject(value))
    throw new InvalidInput(field, 'must be the name of a fault, or an object with its kind');
  const input = new Input(typeof value === 'string' ? { kind: value } : value, field);
  const fault = readKind(input, input.required('kind', oneOf(...KINDS), 'status'));
  input.done();
  return fault;
}

function readKind(input: Input, kind: FaultKind): Fault {
  const processed = (fallback: boolean): boolean => input.optional('processed', flag(), fallback);
  switch (kind) {
    case 'status':
      return readStatus(input, kind, processed(false));
    case 'statusAfter':
      return readStatus(input, kind, true);
    case 'timeoutBefore':
    case 'timeoutAfter':
      return { kind };
    case 'resetBefore':
    case 'resetAfter':
      return { kind };
    case 'resetDuringUpload':
      return { kind };
    case 'html':
      return { kind, status: input.optional('status', STATUS, 200), processed: processed(false) };
    case 'emptyObject':
      return { kind, processed: processed(false) };
    case 'errorBody200':
      return {
        kind,
        body: input.optional('body', json(), { error: 'internal', message: 'Something went wrong' }),
        processed: processed(false),
      };
    case 'truncatedJson':
      return { kind, cut: input.optional('cut', oneOf('body', 'connection'), 'body') };
    case 'slow':
      return {
        kind,
        delayMs: input.optional('delayMs', whole(0, 3_600_000), 1_000),
        processedFirst: input.optional('processedFirst', flag(), false),
      };
    case 'drip':
      return {
        kind,
        bytes: input.optional('bytes', whole(1, 1_048_576), 1),
        intervalMs: input.optional('intervalMs', whole(1, 60_000), 100),
      };
    case 'invalidUtf8':
      return { kind };
    case 'poisonMessage':
      return {
        kind,
        garbage: input.optional('garbage', oneOf('null', 'number', 'string', 'array', 'noId'), 'null'),
        position: input.optional('position', whole(0, 1_000_000), 0),
        mode: input.optional('mode', oneOf('replace', 'insert'), 'replace'),
      };
  }
}

const STATUS = whole(200, 599);

const RETRY_AFTER: Check<string> = (value, field) => {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return word(200)(value, field, '');
};

function readStatus(input: Input, kind: StatusFault['kind'], processed: boolean): StatusFault {
  const status = input.optional('status', STATUS, 500);
  return {
    kind,
    status,
    retryAfter: input.optional('retryAfter', orNull(RETRY_AFTER, ''), null),
    body: input.optional('body', json(), {
      error: `status_${status}`,
      message: `Answered ${status} by a fault`,
    }),
    contentType: input.optional('contentType', text(200), 'application/json; charset=utf-8'),
    location: input.optional('location', orNull(text(2_000), ''), null),
    processed,
  };
}
