import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { parseNetworks } from './network.js';
import { parseRedisAddress } from './redis-address.js';
import { parseBlobLocation } from './blob-location.js';
import { describeVariable } from './variable-description.js';

/** What a variable's text could not be read as; the words follow "must be". */
class Unreadable {
  constructor(readonly wanted: string) {}
}

/**
 * A variable that is read from text by `parse`, which throws on text it cannot read.
 * The message of a fault names the variable, what it must be, and an example.
 */
function variable(wanted: string, example: string, parse: (text: string) => unknown): PropertyDecorator {
  return (target, property) => {
    describeVariable(target, property, { wanted });
    Transform(({ value }: { value: unknown }) => {
      if (typeof value !== 'string') return value;
      try {
        return parse(value.trim());
      } catch {
        return new Unreadable(wanted);
      }
    })(target, property);
    ValidateBy({
      name: 'variable',
      validator: {
        validate: (value: unknown) => value !== undefined && !(value instanceof Unreadable),
        defaultMessage: (context) =>
          `${String(property)} ${context?.value instanceof Unreadable ? `must be ${wanted}` : 'is required'}, for example ${String(property)}=${example}`,
      },
    })(target, property);
  };
}

function fail(): never {
  throw new Error('unreadable');
}

function wholeNumber(text: string, min: number, max: number): number {
  const value = Number(text);
  return /^-?\d+$/.test(text) && value >= min && value <= max ? value : fail();
}

const LARGEST_DELAY = 2_147_483_647;

/** A whole number from `min` to `max`, both included. */
export function Whole(example: number, min = 0, max = LARGEST_DELAY): PropertyDecorator {
  return variable(`a whole number from ${min} to ${max}`, String(example), (text) =>
    wholeNumber(text, min, max),
  );
}

/** What the variable is for, as the page of the configuration shows it. */
export function Meaning(text: string): PropertyDecorator {
  return (target, property) => {
    describeVariable(target, property, { meaning: text });
  };
}

/** The variable, a number, must not be below the one of that name. */
export function NotBelow(other: string): PropertyDecorator {
  return (target, property) => {
    describeVariable(target, property, { notBelow: other });
    const least = (object: object | undefined): unknown =>
      Object.entries(object ?? {}).find(([name]) => name === other)?.[1];
    ValidateBy({
      name: 'notBelow',
      validator: {
        // A value that could not be read has its own fault.
        validate: (value: unknown, context) => {
          const bound = least(context?.object);
          return typeof value !== 'number' || typeof bound !== 'number' || value >= bound;
        },
        defaultMessage: (context) => {
          const bound = String(least(context?.object));
          return `${String(property)} must not be below ${other}, which is ${bound}, for example ${String(property)}=${bound}`;
        },
      },
    })(target, property);
  };
}

/** A number above zero; fractions are allowed. */
export function Positive(example: number): PropertyDecorator {
  return variable('a number above 0', String(example), (text) => {
    const value = Number(text);
    return text !== '' && Number.isFinite(value) && value > 0 ? value : fail();
  });
}

/** Whole numbers from `min` to `max`, separated by commas; empty text is the empty list if `mayBeEmpty`. */
export function WholeList(example: string, min: number, max: number, mayBeEmpty = false): PropertyDecorator {
  return variable(`whole numbers from ${min} to ${max}, separated by commas`, example, (text) => {
    if (text === '') return mayBeEmpty ? [] : fail();
    return text.split(',').map((item) => wholeNumber(item.trim(), min, max));
  });
}

/** One of the given words. */
export function OneOf(...words: readonly [string, ...string[]]): PropertyDecorator {
  return variable(`one of ${words.join(', ')}`, words[0], (text) => (words.includes(text) ? text : fail()));
}

/** Origins of web pages, separated by commas; empty text is the empty list. */
export function Origins(example: string): PropertyDecorator {
  return variable('origins such as https://example.com, separated by commas', example, (text) => {
    const origins = text === '' ? [] : text.split(',').map((item) => item.trim());
    return origins.every((origin) => /^https?:/.test(origin) && new URL(origin).origin === origin)
      ? origins
      : fail();
  });
}

/** Some of the given words, at least one, separated by commas. */
export function SomeOf(...words: readonly [string, ...string[]]): PropertyDecorator {
  return variable(`some of ${words.join(', ')}, separated by commas`, words.join(','), (text) => {
    const chosen = text.split(',').map((item) => item.trim());
    return chosen.every((item) => words.includes(item)) ? [...new Set(chosen)] : fail();
  });
}

/** Text of at least `min` characters without control characters. */
export function Text(example: string, min = 1): PropertyDecorator {
  const length = min === 1 ? 'not empty' : `of at least ${min} characters`;
  return variable(`text, ${length}, without control characters`, example, (text) =>
    text.length >= min && !/\p{Cc}/u.test(text) ? text : fail(),
  );
}

/** The first part of every key: letters, digits, `.`, `_`, `-`. */
export function KeyPrefix(example: string): PropertyDecorator {
  return variable('1 to 64 of the characters A-Z a-z 0-9 . _ -', example, (text) =>
    /^[\w.-]{1,64}$/.test(text) ? text : fail(),
  );
}

/** An `http:` or `https:` address without a trailing slash, query or fragment. */
export function HttpAddress(example: string): PropertyDecorator {
  return variable('an http:// or https:// address without query and fragment', example, (text) => {
    const url = new URL(text);
    // An empty query or fragment is invisible in the URL, but paths are appended to the text.
    const plain = /^https?:$/.test(url.protocol) && !/[?#]/.test(text);
    return plain ? text.replace(/\/+$/, '') : fail();
  });
}

/** `size` bytes in base64, as a Buffer. */
export function Base64Bytes(size: number): PropertyDecorator {
  return variable(`${size} bytes in base64`, '$(openssl rand -base64 32)', (text) => bytesOf(text, size));
}

/** Several times `size` bytes in base64, separated by commas, as Buffers; empty text is the empty list. */
export function Base64BytesList(size: number): PropertyDecorator {
  return variable(`${size} bytes in base64, separated by commas`, '$(openssl rand -base64 32)', (text) =>
    text === '' ? [] : text.split(',').map((item) => bytesOf(item.trim(), size)),
  );
}

function bytesOf(text: string, size: number): Buffer {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === size && bytes.toString('base64') === text ? bytes : fail();
}

/** CIDR blocks separated by commas; empty text is the empty list. */
export function Networks(example: string): PropertyDecorator {
  return variable('CIDR blocks separated by commas', example, parseNetworks);
}

/** Where Redis is; see {@link parseRedisAddress}. */
export function RedisLocation(): PropertyDecorator {
  return variable(
    'a redis://, rediss://, redis-sentinel://host:port,host:port/name or redis-cluster://host:port,host:port address',
    'redis://127.0.0.1:6379',
    parseRedisAddress,
  );
}

/** Where uploads wait; see {@link parseBlobLocation}. */
export function BlobStoreLocation(): PropertyDecorator {
  return variable(
    'file:DIR, or s3:// with a bucket and a prefix such as s3://company-tidings/uploads',
    'file:.data/blobs',
    parseBlobLocation,
  );
}
