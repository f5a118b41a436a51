import { ValidateBy, ValidateIf } from 'class-validator';
import { parsePhoneNumberFromString } from 'libphonenumber-js';

/** A rule of a field; `wanted` follows the field's name in the message of a fault. */
export function rule(
  name: string,
  wanted: string,
  holds: (value: unknown, object: object) => boolean,
): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown, context) => holds(value, context?.object ?? {}),
      defaultMessage: () => wanted,
    },
  });
}

/** A rule of a field that says itself what is wrong with a value; undefined is nothing. */
export function ruleSaying(name: string, faultOf: (value: unknown) => string | undefined): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => faultOf(value) === undefined,
      defaultMessage: (context) => faultOf(context?.value) ?? '',
    },
  });
}

/** The field may be left out, or null to clear it; its other rules count only for other values. */
export function Clearable(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined && value !== null);
}

/** The field may be left out; its other rules count only if it is there. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

/** NUL and halves of surrogate pairs cannot be stored and handed on as they are. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/** Whether a text holds what cannot be stored and handed on. */
export function hasUnstorable(text: string): boolean {
  return UNSTORABLE.test(text);
}

/** Text of `min` to `max` characters. */
export function TextOf(min: number, max: number): PropertyDecorator {
  return rule(
    'text',
    `must be text of ${min} to ${max} characters, without NUL or half surrogate pairs`,
    (value) =>
      typeof value === 'string' && value.length >= min && value.length <= max && !UNSTORABLE.test(value),
  );
}

/** A phone number in E.164 form. */
export function PhoneNumber(): PropertyDecorator {
  return rule('phoneNumber', 'must be a phone number in E.164 form, for example +14155550123', (value) => {
    if (typeof value !== 'string' || !/^\+[1-9]\d{6,14}$/.test(value)) return false;
    const parsed = parsePhoneNumberFromString(value);
    // Possible, not assigned: numbering plans grow faster than any list of them.
    return parsed?.isPossible() === true && parsed.number === value;
  });
}

/** An absolute `http:` or `https:` address. */
export function WebAddress(): PropertyDecorator {
  return rule(
    'webAddress',
    'must be an http:// or https:// address of at most 2048 characters, for example https://example.com/photo.jpg',
    (value) => {
      if (typeof value !== 'string' || value.length > 2048 || UNSTORABLE.test(value)) return false;
      if (!/^https?:\/\//i.test(value) || /\s/.test(value) || !URL.canParse(value)) return false;
      return new URL(value).hostname !== '';
    },
  );
}

/** A list of `min` to `max` different texts that `holds` is true of. */
export function ListOf(wanted: string, max: number, holds: (item: string) => boolean): PropertyDecorator {
  return rule(
    'list',
    `must be a list of 1 to ${max} ${wanted}; leave it out for all`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= max &&
      value.every((item) => typeof item === 'string' && !UNSTORABLE.test(item) && holds(item)),
  );
}

/** True or false. */
export function Flag(): PropertyDecorator {
  return rule('flag', 'must be true or false', (value) => typeof value === 'boolean');
}

/** A number from `min` to `max`. */
export function NumberOf(min: number, max: number): PropertyDecorator {
  return rule(
    'number',
    `must be a number from ${min} to ${max}`,
    (value) => typeof value === 'number' && value >= min && value <= max,
  );
}

/** A whole number from `min` to `max`. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  return rule(
    'wholeNumber',
    `must be a whole number from ${min} to ${max}`,
    (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  );
}

/** A whole number of a query, as text, from `min` to `max`. */
export function WholeNumberText(min: number, max: number): PropertyDecorator {
  return rule(
    'wholeNumber',
    `must be a whole number from ${min} to ${max}`,
    (value) =>
      typeof value === 'string' && /^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max,
  );
}

const ISO_INSTANT = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970 of an ISO 8601 date and time with its zone, or undefined for anything else. */
export function parseInstant(value: unknown): number | undefined {
  const [, year, month, day] = (typeof value === 'string' ? ISO_INSTANT.exec(value) : null) ?? [];
  if (typeof value !== 'string' || day === undefined) return undefined;
  // Date.parse takes 30 February for 1 March.
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const time = Date.parse(value);
  return Number.isNaN(time) || Number(day) > daysOfMonth ? undefined : time;
}

/** A date and time with its zone. */
export function Instant(): PropertyDecorator {
  return rule(
    'instant',
    'must be an ISO 8601 date and time with its zone, for example 2030-01-31T09:00:00Z',
    (value) => parseInstant(value) !== undefined,
  );
}
