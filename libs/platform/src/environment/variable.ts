import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { parseNetworks } from './network.js';
import { parseRedisAddress } from './redis-address.js';
import { parseBlobLocation } from './blob-location.js';
import { addVariableDescriptionPart } from './variable-description.js';

/**
 * Replaces the value of a variable whose text is invalid. The error message then says "must be", followed by
 * `validText`.
 */
class InvalidText {
  constructor(readonly validText: string) {}
}

/**
 * Returns a decorator of an environment variable. `parse` converts the text of the variable, and throws if the text
 * is invalid. The error message for an invalid text contains the name of the variable, `validText`, and `example`.
 */
function variable(validText: string, example: string, parse: (text: string) => unknown): PropertyDecorator {
  return (target, property) => {
    addVariableDescriptionPart(target, property, { validText });
    Transform(({ value }: { value: unknown }) => {
      if (typeof value !== 'string') return value;
      try {
        return parse(value.trim());
      } catch {
        return new InvalidText(validText);
      }
    })(target, property);
    ValidateBy({
      name: 'variable',
      validator: {
        validate: (value: unknown) => value !== undefined && !(value instanceof InvalidText),
        defaultMessage: (context) =>
          `${String(property)} ${context?.value instanceof InvalidText ? `must be ${validText}` : 'is required'}, for example ${String(property)}=${example}`,
      },
    })(target, property);
  };
}

/** Returns a decorator like {@link variable}, for a variable whose value is secret. */
function secretVariable(...parts: Parameters<typeof variable>): PropertyDecorator {
  return (target, property) => {
    addVariableDescriptionPart(target, property, { isSecret: true });
    variable(...parts)(target, property);
  };
}

function fail(): never {
  throw new Error('unreadable');
}

function parseInteger(text: string, min: number, max: number): number {
  const value = Number(text);
  return /^-?\d+$/.test(text) && value >= min && value <= max ? value : fail();
}

/** Minimum length of a secret that callers send, in characters. */
const MIN_SECRET_LENGTH = 16;

/** Maximum delay of a timer in Node.js, in milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

/** Decorator of a variable that must be an integer from `min` to `max`, both inclusive. */
export function Integer(example: number, min = 0, max = MAX_TIMER_MS): PropertyDecorator {
  return variable(`a whole number from ${min} to ${max}`, String(example), (text) =>
    parseInteger(text, min, max),
  );
}

/** Decorator that sets the description of the variable in docs/configuration.md. */
export function Description(text: string): PropertyDecorator {
  return (target, property) => {
    addVariableDescriptionPart(target, property, { meaning: text });
  };
}

/** Decorator of a variable whose number must not be below the number in the variable `other`. */
export function NotBelowVariable(other: string): PropertyDecorator {
  return (target, property) => {
    addVariableDescriptionPart(target, property, { notBelow: other });
    const minimum = (object: object | undefined): unknown =>
      Object.entries(object ?? {}).find(([name]) => name === other)?.[1];
    ValidateBy({
      name: 'notBelow',
      validator: {
        // Returns true if the value is not below the value of the variable `other`. Also returns true if one of the
        // two values is not a number, because another check reports values that are not numbers.
        validate: (value: unknown, context) => {
          const bound = minimum(context?.object);
          return typeof value !== 'number' || typeof bound !== 'number' || value >= bound;
        },
        defaultMessage: (context) => {
          const bound = String(minimum(context?.object));
          return `${String(property)} must not be below ${other}, which is ${bound}, for example ${String(property)}=${bound}`;
        },
      },
    })(target, property);
  };
}

/**
 * Decorator of a variable that must be a number from `min` to `max`, both inclusive. The number may have a fraction.
 */
export function DecimalNumber(example: number, min: number, max: number): PropertyDecorator {
  return variable(`a number from ${min} to ${max}`, String(example), (text) => {
    const value = Number(text);
    return text !== '' && value >= min && value <= max ? value : fail();
  });
}

/**
 * Decorator of a variable that must be integers from `min` to `max`, separated by commas. Empty text gives an
 * empty list if `mayBeEmpty` is true, and is invalid otherwise.
 */
export function IntegerList(
  example: string,
  min: number,
  max: number,
  mayBeEmpty = false,
): PropertyDecorator {
  return variable(`whole numbers from ${min} to ${max}, separated by commas`, example, (text) => {
    if (text === '') return mayBeEmpty ? [] : fail();
    return text.split(',').map((item) => parseInteger(item.trim(), min, max));
  });
}

/** Decorator of a variable that must be one of the given words. Error messages name the first one as an example. */
export function OneOf(...words: readonly [string, ...string[]]): PropertyDecorator {
  return variable(`one of ${words.join(', ')}`, words[0], (text) => (words.includes(text) ? text : fail()));
}

/** Decorator of a variable that must be web origins, separated by commas. Empty text gives an empty list. */
export function WebOrigins(example: string): PropertyDecorator {
  return variable('origins such as https://example.com, separated by commas', example, (text) => {
    const origins = text === '' ? [] : text.split(',').map((item) => item.trim());
    return origins.every((origin) => /^https?:/.test(origin) && new URL(origin).origin === origin)
      ? origins
      : fail();
  });
}

/** Decorator of a variable that must be one or more of the given words, separated by commas. */
export function CommaSeparatedWords(...words: readonly [string, ...string[]]): PropertyDecorator {
  return variable(`one or more of ${words.join(', ')}, separated by commas`, words.join(','), (text) => {
    const chosen = text.split(',').map((item) => item.trim());
    return chosen.every((item) => words.includes(item)) ? [...new Set(chosen)] : fail();
  });
}

/**
 * Decorator of a secret that callers send in an HTTP header, with at least 16 characters. Node.js decodes headers
 * as Latin-1, so a secret with any character outside of Latin-1 would never match and is invalid. The error message
 * asks for ASCII only, because many clients send the other characters of Latin-1 as UTF-8. A secret with such
 * characters is still valid, and works with clients that send Latin-1.
 */
export function RequestHeaderSecret(example: string): PropertyDecorator {
  return secretVariable(
    `text of at least ${MIN_SECRET_LENGTH} printable ASCII characters`,
    example,
    (text) => (text.length >= MIN_SECRET_LENGTH && /^[ -~\u00a0-\u00ff]*$/.test(text) ? text : fail()),
  );
}

/** Decorator of a variable that must be non-empty text without control characters. */
export function Text(example: string): PropertyDecorator {
  return variable('non-empty text without control characters', example, (text) =>
    text.length > 0 && !/\p{Cc}/u.test(text) ? text : fail(),
  );
}

/** Decorator of a secret that Tidings sends in an HTTP header: it must have printable ASCII characters only. */
export function SentHeaderSecret(example: string): PropertyDecorator {
  return secretVariable('text of printable ASCII characters', example, (text) =>
    /^[ -~]+$/.test(text) ? text : fail(),
  );
}

/** Decorator of a variable that must be a prefix of Redis keys: 1 to 64 letters, digits, `.`, `_` and `-`. */
export function RedisKeyPrefix(example: string): PropertyDecorator {
  return variable('1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-"', example, (text) =>
    /^[\w.-]{1,64}$/.test(text) ? text : fail(),
  );
}

/**
 * Decorator of a variable that must be an `http:` or `https:` URL without query and fragment. Slashes at its
 * end are removed.
 */
export function HttpAddress(example: string): PropertyDecorator {
  return variable('an http:// or https:// address without query and fragment', example, (text) => {
    const url = new URL(text);
    // Paths are appended to the text, so it must not contain `?` or `#`. The text itself is checked, because the
    // parsed URL does not show an empty query or fragment.
    const plain = /^https?:$/.test(url.protocol) && !/[?#]/.test(text);
    return plain ? text.replace(/\/+$/, '') : fail();
  });
}

/**
 * Decorator like {@link HttpAddress} for an address that is shown and logged, and therefore must contain neither a
 * user name nor a password.
 */
export function HttpAddressWithoutCredentials(example: string): PropertyDecorator {
  const validText = 'an http:// or https:// address without user name, password, query and fragment';
  return variable(validText, example, (text) => {
    const { protocol, username, password } = new URL(text);
    const plain = /^https?:$/.test(protocol) && username === '' && password === '' && !/[\s?#]/.test(text);
    return plain ? text.replace(/\/+$/, '') : fail();
  });
}

/** Decorator of a secret in base64 that must decode to `size` bytes. The value becomes a Buffer. */
export function SecretBytes(size: number): PropertyDecorator {
  return secretVariable(`${size} bytes in base64`, '$(openssl rand -base64 32)', (text) =>
    bytesOf(text, size),
  );
}

/**
 * Decorator of a list of secrets in base64, separated by commas. Each value must decode to
 * `bytesPerValue` bytes, and becomes a Buffer. Empty text gives an empty list.
 */
export function SecretBytesList(bytesPerValue: number): PropertyDecorator {
  return secretVariable(
    `values of ${bytesPerValue} bytes each in base64, separated by commas`,
    '$(openssl rand -base64 32)',
    (text) => (text === '' ? [] : text.split(',').map((item) => bytesOf(item.trim(), bytesPerValue))),
  );
}

function bytesOf(text: string, size: number): Buffer {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === size && bytes.toString('base64') === text ? bytes : fail();
}

/** Decorator of a variable that must be CIDR blocks, separated by commas. Empty text gives an empty list. */
export function IpNetworks(example: string): PropertyDecorator {
  return variable('CIDR blocks separated by commas', example, parseNetworks);
}

/** Decorator of the address of Redis. {@link parseRedisAddress} describes the valid forms. */
export function RedisUrl(): PropertyDecorator {
  return variable(
    'a redis://, rediss://, redis-sentinel://host:port,host:port/name or redis-cluster://host:port,host:port address',
    'redis://127.0.0.1:6379',
    parseRedisAddress,
  );
}

/**
 * Decorator of a variable that contains the location of the blob store. {@link parseBlobLocation} describes the valid
 * forms.
 */
export function BlobStoreLocation(): PropertyDecorator {
  return variable(
    'file:DIRECTORY, or s3://BUCKET/PREFIX such as s3://company-tidings/uploads',
    'file:.data/blobs',
    parseBlobLocation,
  );
}
