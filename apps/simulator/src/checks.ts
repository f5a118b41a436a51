import type { Json } from './json.js';
import { isJson, isObject } from './json.js';
import { InvalidInput } from './input-errors.js';

/**
 * Converts an unknown value to a typed one, or throws InvalidInput with the field name. `current` is the
 * object into which a partial value is merged. Checks of simple values ignore `current`.
 */
export type Check<T> = (value: unknown, field: string, current: T) => T;

/** Accepts a boolean. */
export function flag(): Check<boolean> {
  return (value, field) => {
    if (typeof value !== 'boolean') throw new InvalidInput(field, 'must be true or false');
    return value;
  };
}

/** Accepts a whole number from `min` to `max`. */
export function whole(min: number, max: number): Check<number> {
  return (value, field) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max)
      throw new InvalidInput(field, `must be a whole number from ${min} to ${max}`);
    return value;
  };
}

/** Accepts a number from 0 to 1. */
export function share(): Check<number> {
  return (value, field) => {
    if (typeof value !== 'number' || !(value >= 0 && value <= 1))
      throw new InvalidInput(field, 'must be a number from 0 to 1');
    return value;
  };
}

/** Accepts a string of at most `max` characters. */
export function text(max = 1_000_000): Check<string> {
  return (value, field) => {
    if (typeof value !== 'string') throw new InvalidInput(field, 'must be a string');
    if (value.length > max) throw new InvalidInput(field, `must have at most ${max} characters`);
    return value;
  };
}

/** Accepts a non-empty string, such as a name or an id. */
export function word(max = 512): Check<string> {
  const anyText = text(max);
  return (value, field, current) => {
    const checked = anyText(value, field, current);
    if (checked === '') throw new InvalidInput(field, 'must not be empty');
    return checked;
  };
}

/** Accepts the value of an HTTP header. */
export function headerValue(max: number): Check<string> {
  const anyText = text(max);
  return (value, field, current) => {
    const checked = anyText(value, field, current);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(checked))
      throw new InvalidInput(field, 'must contain only characters of an HTTP header value');
    return checked;
  };
}

/** Accepts one of the given values. */
export function oneOf<const T extends string | number | boolean>(...choices: readonly T[]): Check<T> {
  return (value, field) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new InvalidInput(field, `must be one of ${choices.join(', ')}`);
    return found;
  };
}

/** Accepts null or a value of the given check. */
export function orNull<T>(check: Check<T>, start: T): Check<T | null> {
  return (value, field, current) => (value === null ? null : check(value, field, current ?? start));
}

/** Accepts an array with `min` to `max` elements. */
export function listOf<T>(check: Check<T>, start: T, min = 0, max = 100_000): Check<T[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw new InvalidInput(field, 'must be an array');
    if (value.length < min || value.length > max)
      throw new InvalidInput(field, `must have ${min} to ${max} elements`);
    return value.map((item: unknown, index) => check(item, `${field}[${index}]`, start));
  };
}

/**
 * Accepts an object and checks each field. Missing fields keep their current value. Unknown fields are
 * rejected.
 */
export function merged<T extends object>(checks: { readonly [K in keyof T]: Check<T[K]> }): Check<T> {
  return (value, field, current) => {
    if (!isObject(value)) throw new InvalidInput(field, 'must be an object');
    const prefix = field === '' ? '' : `${field}.`;
    for (const name of Object.keys(value))
      if (!Object.hasOwn(checks, name)) throw new InvalidInput(prefix + name, 'is not a known field');
    const result = { ...current };
    for (const name of Object.keys(checks) as (keyof T & string)[])
      if (value[name] !== undefined) result[name] = checks[name](value[name], prefix + name, current[name]);
    return result;
  };
}

/** Accepts any JSON value with at most 32 levels. */
export function json(): Check<Json> {
  return (value, field) => {
    if (!isJson(value)) throw new InvalidInput(field, 'must be JSON with at most 32 levels');
    return value;
  };
}

/** Accepts a phone number in E.164 format. */
export function phoneNumber(): Check<string> {
  return (value, field) => {
    if (typeof value !== 'string' || !isPhoneNumber(value))
      throw new InvalidInput(field, 'must be a phone number in E.164 format, such as +15551234567');
    return value;
  };
}

export function isPhoneNumber(value: string): boolean {
  return /^\+[1-9]\d{1,14}$/.test(value);
}
