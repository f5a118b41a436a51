import { ValidateBy, ValidateIf } from 'class-validator';
import { parsePhoneNumberFromString } from 'libphonenumber-js';

/**
 * Decorator that validates a field.
 * @param message text of the fault after the field's name, such as `must be true or false`
 * @param holds true for a valid value
 */
export function rule(
  name: string,
  message: string,
  holds: (value: unknown, object: object) => boolean,
): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown, context) => holds(value, context?.object ?? {}),
      defaultMessage: () => message,
    },
  });
}

/** Decorator that validates a field with a function. The function returns the fault, or undefined for a valid value. */
export function ruleWithFault(
  name: string,
  faultOf: (value: unknown) => string | undefined,
): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => faultOf(value) === undefined,
      defaultMessage: (context) => faultOf(context?.value) ?? '',
    },
  });
}

/** Decorator of an optional field that `null` clears. The field's other rules apply to any other value. */
export function Clearable(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined && value !== null);
}

/** Decorator of an optional field. The field's other rules apply only if it is given. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

/** Characters that cannot be stored and passed on unchanged: NUL and unpaired surrogates. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/** True if a text contains a character that cannot be stored and passed on unchanged. */
export function hasUnstorable(text: string): boolean {
  return UNSTORABLE.test(text);
}

/** Decorator: text of `min` to `max` characters. */
export function TextOf(min: number, max: number): PropertyDecorator {
  return rule(
    'text',
    `must be text of ${min} to ${max} characters without NUL or unpaired surrogates`,
    (value) =>
      typeof value === 'string' && value.length >= min && value.length <= max && !UNSTORABLE.test(value),
  );
}

/** Decorator: a phone number in E.164 form. */
export function PhoneNumber(): PropertyDecorator {
  return rule('phoneNumber', 'must be a phone number in E.164 form, for example +14155550123', (value) => {
    if (typeof value !== 'string' || !/^\+[1-9]\d{6,14}$/.test(value)) return false;
    const parsed = parsePhoneNumberFromString(value);
    // Only the length is checked, because any list of assigned numbers is soon out of date.
    return parsed?.isPossible() === true && parsed.number === value;
  });
}

/** Decorator: an absolute `http:` or `https:` URL. */
export function WebAddress(): PropertyDecorator {
  return rule(
    'webAddress',
    'must be an http:// or https:// URL of at most 2048 characters, for example https://example.com/photo.jpg',
    (value) => {
      if (typeof value !== 'string' || value.length > 2048 || UNSTORABLE.test(value)) return false;
      if (!/^https?:\/\//i.test(value) || /\s/.test(value) || !URL.canParse(value)) return false;
      return new URL(value).hostname !== '';
    },
  );
}

/**
 * Decorator: a list of 1 to `max` texts.
 * @param items plural name of the items for the message, such as `contact ids`
 * @param holds true for a valid item
 */
export function ListOf(items: string, max: number, holds: (item: string) => boolean): PropertyDecorator {
  return rule(
    'list',
    `must be a list of 1 to ${max} ${items}; omit the field to select all`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= max &&
      value.every((item) => typeof item === 'string' && !UNSTORABLE.test(item) && holds(item)),
  );
}

/** Decorator: a boolean. */
export function Flag(): PropertyDecorator {
  return rule('flag', 'must be true or false', (value) => typeof value === 'boolean');
}

/** Decorator: a number from `min` to `max`. */
export function NumberOf(min: number, max: number): PropertyDecorator {
  return rule(
    'number',
    `must be a number from ${min} to ${max}`,
    (value) => typeof value === 'number' && value >= min && value <= max,
  );
}

/** Decorator: an integer from `min` to `max`. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  return rule(
    'wholeNumber',
    `must be a whole number from ${min} to ${max}`,
    (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  );
}

/** Decorator: an integer from `min` to `max` in a query parameter, which is text. */
export function WholeNumberText(min: number, max: number): PropertyDecorator {
  return rule(
    'wholeNumber',
    `must be a whole number from ${min} to ${max}`,
    (value) =>
      typeof value === 'string' && /^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max,
  );
}

const ISO_INSTANT = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Parses an ISO 8601 date and time with a time zone. Returns milliseconds since 1970, or undefined for any other value. */
export function parseInstant(value: unknown): number | undefined {
  const [, year, month, day] = (typeof value === 'string' ? ISO_INSTANT.exec(value) : null) ?? [];
  if (typeof value !== 'string' || day === undefined) return undefined;
  // Date.parse accepts 30 February as 1 March.
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const time = Date.parse(value);
  return Number.isNaN(time) || Number(day) > daysOfMonth ? undefined : time;
}

/** Decorator: a date and time with a time zone. */
export function Instant(): PropertyDecorator {
  return rule(
    'instant',
    'must be an ISO 8601 date and time with a time zone, for example 2030-01-31T09:00:00Z',
    (value) => parseInstant(value) !== undefined,
  );
}
