import type { Check } from './checks.js';
import { flag, headerValue, json, oneOf, orNull, whole } from './checks.js';
import { Input } from './input.js';
import type { Json } from './json.js';
import { isObject } from './json.js';
import { InvalidInput } from './input-errors.js';

/**
 * A fault of one request. `processed` is true if the request is processed anyway (a send is accepted), and
 * only the reply is affected.
 */
export type Fault =
  /** `statusAfter` equals `status` with `processed`. */
  | StatusFault
  /** The connection stays open without a reply. */
  | { readonly kind: 'timeoutBefore' | 'timeoutAfter' }
  /** The connection is reset (RST). */
  | { readonly kind: 'resetBefore' | 'resetAfter' }
  /** The connection is reset while the client sends its body. The request is never processed. */
  | { readonly kind: 'resetDuringUpload' }
  /** An HTML page instead of JSON, as a proxy may send. */
  | { readonly kind: 'html'; readonly status: number; readonly processed: boolean }
  | { readonly kind: 'emptyObject'; readonly processed: boolean }
  | { readonly kind: 'errorBody200'; readonly body: Json; readonly processed: boolean }
  /** Half of the correct reply: as a complete reply (`body`), or with the connection closed in the middle. */
  | { readonly kind: 'truncatedJson'; readonly cut: 'body' | 'connection' }
  /**
   * A delay before the request is processed, or after it (`processedFirst`). The request is processed even if
   * the client disconnects.
   */
  | { readonly kind: 'slow'; readonly delayMs: number; readonly processedFirst: boolean }
  /**
   * The correct reply, a few bytes at a time. The connection is closed after the setting `hangCapMs`: with the
   * defaults, after 1,200 bytes.
   */
  | { readonly kind: 'drip'; readonly bytes: number; readonly intervalMs: number }
  /** The first text of the reply contains bytes that are not UTF-8. */
  | { readonly kind: 'invalidUtf8' }
  /** One invalid element in a list. `replace` removes the correct element, `insert` keeps it. */
  | {
      readonly kind: 'poisonMessage';
      readonly garbage: 'null' | 'number' | 'string' | 'array' | 'noId';
      readonly position: number;
      readonly mode: 'replace' | 'insert';
    };

/** A reply with another status. */
export interface StatusFault {
  readonly kind: 'status' | 'statusAfter';
  readonly status: number;
  /** Value of `Retry-After`: seconds or a date. */
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

/** Reads a fault: a name, or an object with `kind` and the fields of that kind. @throws InvalidInput */
export function readFault(value: unknown, field: string): Fault {
  if (typeof value !== 'string' && !isObject(value))
    throw new InvalidInput(field, 'must be the name of a fault, or an object with a kind');
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
  return headerValue(200)(value, field, '');
};

function readStatus(input: Input, kind: StatusFault['kind'], processed: boolean): StatusFault {
  const status = input.optional('status', STATUS, 500);
  return {
    kind,
    status,
    retryAfter: input.optional('retryAfter', orNull(RETRY_AFTER, ''), null),
    body: input.optional('body', json(), {
      error: `status_${status}`,
      message: `Status ${status} from a configured fault`,
    }),
    contentType: input.optional('contentType', headerValue(200), 'application/json; charset=utf-8'),
    location: input.optional('location', orNull(headerValue(2_000), ''), null),
    processed,
  };
}
