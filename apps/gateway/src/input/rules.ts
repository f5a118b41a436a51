import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ValidateBy, ValidateIf } from 'class-validator';
import { parseInstant } from './instant.js';
import { E164, isPossiblePhoneNumber } from './phone-number.js';

/**
 * Decorator that validates a field, and documents the limits of the field in OpenAPI.
 * @param message text of the fault after the field's name, such as `must be true or false`
 * @param holds true for a valid value
 * @param schema what the rule says in OpenAPI, so that a DTO states no limit twice
 */
export function rule(
  name: string,
  message: string,
  holds: (value: unknown, object: object) => boolean,
  schema: ApiPropertyOptions = {},
): PropertyDecorator {
  const validate = ValidateBy({
    name,
    validator: {
      validate: (value: unknown, context) => holds(value, context?.object ?? {}),
      defaultMessage: () => message,
    },
  });
  return applyDecorators(validate, ApiProperty(schema));
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
  return applyDecorators(
    ValidateIf((_, value) => value !== undefined && value !== null),
    ApiProperty({ required: false, nullable: true }),
  );
}

/** Decorator of an optional field. The field's other rules apply only if it is given. */
export function Optional(): PropertyDecorator {
  return applyDecorators(
    ValidateIf((_, value) => value !== undefined),
    ApiProperty({ required: false }),
  );
}

/** Characters that cannot be stored and passed on unchanged: NUL and unpaired surrogates. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/** True if a text contains a character that cannot be stored and passed on unchanged. */
export function hasUnstorable(text: string): boolean {
  return UNSTORABLE.test(text);
}

/** Decorator: text of 1 to `max` characters. */
export function TextOf(max: number): PropertyDecorator {
  return rule(
    'text',
    `must be text of 1 to ${max} characters without NUL or unpaired surrogates`,
    (value) => typeof value === 'string' && hasLength(value, max) && !UNSTORABLE.test(value),
    { type: 'string', minLength: 1, maxLength: max },
  );
}

/** Counts characters as JSON Schema does: an emoji is one character, although it takes two UTF-16 code units. */
function hasLength(text: string, max: number): boolean {
  return text.length > 0 && text.length <= 2 * max && Array.from(text).length <= max;
}

/** Decorator: a text that matches a pattern. */
export function TextMatching(pattern: RegExp, message: string): PropertyDecorator {
  return rule('pattern', message, (value) => typeof value === 'string' && pattern.test(value), {
    type: 'string',
    pattern: pattern.source,
  });
}

/** Decorator: one of the given texts. */
export function OneOf(texts: readonly string[]): PropertyDecorator {
  return rule(
    'oneOf',
    `must be one of ${texts.join(', ')}`,
    (value) => texts.some((text) => text === value),
    { enum: [...texts] },
  );
}

/** Decorator: a phone number in E.164 form. */
export function PhoneNumber(): PropertyDecorator {
  return textWithPlus(
    'phoneNumber',
    'must be a phone number in E.164 form, for example +14155550123',
    isPossiblePhoneNumber,
    { type: 'string', pattern: E164.source },
  );
}

/** Decorator: a text that may contain a `+`, which is decoded as a space if a URL contains it unescaped. */
function textWithPlus(
  name: string,
  message: string,
  holds: (text: string) => boolean,
  schema: ApiPropertyOptions,
): PropertyDecorator {
  const faultOf = (value: unknown): string | undefined => {
    if (typeof value !== 'string') return message;
    if (holds(value)) return undefined;
    return holds(value.replace(' ', '+')) ? `${message}; in a URL, write + as %2B` : message;
  };
  return applyDecorators(ruleWithFault(name, faultOf), ApiProperty(schema));
}

/** Maximum length of a URL in characters. */
export const MAX_URL_LENGTH = 2_048;

/** Decorator: an absolute `http:` or `https:` URL. */
export function WebAddress(): PropertyDecorator {
  return rule(
    'webAddress',
    `must be an http:// or https:// URL of at most ${MAX_URL_LENGTH} characters, for example https://example.com/photo.jpg`,
    (value) => {
      if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || UNSTORABLE.test(value)) return false;
      if (!/^https?:\/\//i.test(value) || /\s/.test(value) || !URL.canParse(value)) return false;
      return new URL(value).hostname !== '';
    },
    { type: 'string', format: 'uri', maxLength: MAX_URL_LENGTH },
  );
}

/** Further rules for the items of a list, each of which is a text. */
interface Items {
  /** Maximum length of an item in characters. */
  maxLength?: number;
  /** True for a valid item. */
  holds?: (item: string) => boolean;
}

/**
 * Decorator: a list of 1 to `max` texts.
 * @param items plural name of the items for the message, such as `contact ids`
 */
export function ListOf(
  items: string,
  max: number,
  { maxLength, holds = () => true }: Items,
): PropertyDecorator {
  const length = maxLength === undefined ? '' : ` of 1 to ${maxLength} characters`;
  return rule(
    'list',
    `must be a list of 1 to ${max} ${items}${length}; use null to select all`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= max &&
      value.every(
        (text) =>
          typeof text === 'string' &&
          hasLength(text, maxLength ?? Infinity) &&
          !UNSTORABLE.test(text) &&
          holds(text),
      ),
    {
      type: 'array',
      items: { type: 'string', minLength: 1, ...(maxLength === undefined ? {} : { maxLength }) },
      minItems: 1,
      maxItems: max,
    },
  );
}

/**
 * Decorator: a cursor of an earlier response.
 * @param message text of the fault after the field's name
 * @param holds true for a valid cursor
 */
export function CursorOf(message: string, holds: (value: unknown) => boolean): PropertyDecorator {
  // Cursors are opaque to callers, so the OpenAPI document shows only their character set.
  return rule('cursor', message, holds, { type: 'string', pattern: '^[A-Za-z0-9_-]+$' });
}

/** Decorator: a boolean. */
export function Flag(): PropertyDecorator {
  return rule('flag', 'must be true or false', (value) => typeof value === 'boolean', { type: 'boolean' });
}

/** Decorator: a number from `min` to `max`. */
export function NumberOf(min: number, max: number): PropertyDecorator {
  return rule(
    'number',
    `must be a number from ${min} to ${max}`,
    (value) => typeof value === 'number' && value >= min && value <= max,
    { type: 'number', minimum: min, maximum: max },
  );
}

/** Decorator: an integer from `min` to `max`. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  return rule(
    'wholeNumber',
    `must be a whole number from ${min} to ${max}`,
    (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
    { type: 'integer', minimum: min, maximum: max },
  );
}

/** Decorator: an integer from `min` to `max` in a query parameter, which is text. */
export function WholeNumberText(min: number, max: number): PropertyDecorator {
  return rule(
    'wholeNumber',
    `must be a whole number from ${min} to ${max}`,
    (value) =>
      typeof value === 'string' && /^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max,
    { type: 'integer', minimum: min, maximum: max },
  );
}

/** Decorator: a date and time with a time zone. */
export function Instant(): PropertyDecorator {
  return textWithPlus(
    'instant',
    'must be an ISO 8601 date and time with a time zone, for example 2030-01-31T09:00:00Z',
    (text) => parseInstant(text) !== undefined,
    { type: 'string', format: 'date-time' },
  );
}
