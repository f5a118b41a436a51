import type { Json } from './json.js';
import { isJson, isObject } from './json.js';
import { InvalidInput } from './refusals.js';

/**
 * Turns an unknown value into a typed one, or throws InvalidInput naming the field. `current` is what a partial
 * value is merged over; checks of plain values ignore it.
 */
export type Check<T> = (value: unknown, field: string, current: T) => T;

export function flag(): Check<boolean> {
  return (value, field) => {
    if (typeof value !== 'boolean') throw new InvalidInput(field, 'must be true or false');
    return value;
  };
}

export function whole(min: number, max: number): Check<number> {
  return (value, field) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max)
      throw new InvalidInput(field, `must be a whole number from ${min} to ${max}`);
    return value;
  };
}

export function share(): Check<number> {
  return (value, field) => {
    if (typeof value !== 'number' || !(value >= 0 && value <= 1))
      throw new InvalidInput(field, 'must be a number from 0 to 1');
    return value;
  };
}

export function text(max = 1_000_000): Check<string> {
  return (value, field) => {
    if (typeof value !== 'string') throw new InvalidInput(field, 'must be a string');
    if (value.length > max) throw new InvalidInput(field, `must have at most ${max} characters`);
    return value;
  };
}

/** A name or an id: a string with something in it. */
export function word(max = 512): Check<string> {
  const anyText = text(max);
  return (value, field, current) => {
    const checked = anyText(value, field, current);
    if (checked === '') throw new InvalidInput(field, 'must not be empty');
    return checked;
  };
}

export function oneOf<const T extends string | number | boolean>(...choices: readonly T[]): Check<T> {
  return (value, field) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new InvalidInput(field, `must be one of ${choices.join(', ')}`);
    return found;
  };
}

export function orNull<T>(check: Check<T>, start: T): Check<T | null> {
  return (value, field, current) => (value === null ? null : check(value, field, current ?? start));
}

export function listOf<T>(check: Check<T>, start: T, min = 0, max = 100_000): Check<T[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw new InvalidInput(field, 'must be an array');
    if (value.length < min || value.length > max)
      throw new InvalidInput(field, `must have from ${min} to ${max} elements`);
    return value.map((item: unknown, index) => check(item, `${field}[${index}]`, start));
  };
}

/** Each field of an object has its own check; fields left out keep their current value, unknown ones are refused. */
export function merged<T extends object>(checks: { readonly [K in keyof T]: Check<T[K]> }): Check<T> {
  return (value, field, current) => {
    if (!isObject(value)) throw new InvalidInput(field, 'must be an object');
    const prefix = field === '' ? '' : `${field}.`;
    for (const name of Object.keys(value))
      if (!Object.hasOwn(checks, name)) throw new InvalidInput(prefix + name, 'is not known here');
    const result = { ...current };
    for (const name of Object.keys(checks) as (keyof T & string)[])
      if (value[name] !== undefined) result[name] = checks[name](value[name], prefix + name, current[name]);
    return result;
  };
}

export function json(): Check<Json> {
  return (value, field) => {
    if (!isJson(value)) throw new InvalidInput(field, 'must be JSON of moderate depth');
    return value;
  };
}

/** A number as E.164 writes it. */
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
