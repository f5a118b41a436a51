import { restrictedTokenFault } from '../input/documented-only.js';
import { unknownField } from '../input/input.pipe.js';
import { type KnownNames, suggestedName } from '../input/known-names.js';
import { hasUnstorable } from '../input/rules.js';
import type { FieldFault } from '../problems/problem.js';

/** Maximum number of undocumented fields of a send, which are passed to upstream as form parts. */
const MAX_FIELDS = 20;
/** Maximum size of the names and values of these fields together, in bytes. */
const MAX_BYTES = 8_192;
const NAME = /^[A-Za-z][\w.-]{0,63}$/;

/** Name of the form part for an upload. It is invalid as a text field. */
export const FILE = 'file';

/** Validates undocumented fields of a send. Returns their faults. */
export function extraFieldFaults(known: KnownNames, fields: Readonly<Record<string, unknown>>): FieldFault[] {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  const faults = given.flatMap(([name, value]) => faultOf(known, name, value));
  if (faults.length > 0) return faults;
  const bytes = given.reduce((sum, [name, value]) => sum + Buffer.byteLength(`${name}${String(value)}`), 0);
  if (given.length <= MAX_FIELDS && bytes <= MAX_BYTES) return [];
  const [field = ''] = given.at(-1) ?? [];
  const message = `exceeds the limit for undocumented fields: at most ${MAX_FIELDS} fields with ${MAX_BYTES} bytes in total`;
  return [{ field, message }];
}

/**
 * Returns the faults of undocumented fields in a request of a token that must not use such fields. Fields with the
 * value null are ignored.
 */
export function restrictedTokenFaults(
  known: KnownNames,
  fields: Readonly<Record<string, unknown>>,
): FieldFault[] {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return given.map(([name]) => restrictedTokenFault(known, name, 'field'));
}

/** Converts valid undocumented fields to text for a form. Returns undefined if there are none. */
export function extraFieldsOf(fields: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return given.length === 0
    ? undefined
    : Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function faultOf(known: KnownNames, name: string, value: unknown): FieldFault[] {
  if (name === FILE)
    return [{ field: name, message: 'must be a file part of a multipart/form-data request' }];
  const meant = suggestedName(known, name);
  if (meant !== undefined) return [unknownField(name, meant)];
  if (!NAME.test(name)) return [unknownField(name)];
  if (typeof value === 'boolean' || (typeof value === 'string' && !hasUnstorable(value))) return [];
  if (typeof value !== 'number') {
    const message = 'must be a number, true, false, or text without NUL or unpaired surrogates';
    return [{ field: name, message }];
  }
  // The JSON parser has already lost digits of a larger integer.
  if (Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))) return [];
  return [
    { field: name, message: 'is a number that is too large to be parsed exactly; send the number as text' },
  ];
}
