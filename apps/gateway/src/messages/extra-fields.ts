import { unknownField } from '../input/input.pipe.js';
import { type KnownNames, meantBy } from '../input/known-names.js';
import { hasUnstorable } from '../input/rules.js';
import type { FieldFault } from '../problems/problem.js';

/** Fields of a send that nobody documented go to upstream as parts of its form: so many, of so many bytes together. */
const MOST_FIELDS = 20;
const MOST_BYTES = 8_192;
const NAME = /^[A-Za-z][\w.-]{0,63}$/;

/** Upstream's file comes as a file only. */
export const FILE = 'file';

/** What is wrong with fields that nobody documented. */
export function extraFieldFaults(known: KnownNames, fields: Readonly<Record<string, unknown>>): FieldFault[] {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  const faults = given.flatMap(([name, value]) => faultOf(known, name, value));
  if (faults.length > 0) return faults;
  const bytes = given.reduce((sum, [name, value]) => sum + Buffer.byteLength(`${name}${String(value)}`), 0);
  if (given.length <= MOST_FIELDS && bytes <= MOST_BYTES) return [];
  const [field = ''] = given.at(-1) ?? [];
  const message = `is one field too many: there may be ${MOST_FIELDS} that are not documented, of ${MOST_BYTES} bytes together`;
  return [{ field, message }];
}

/** The fields as texts, as a form has them; undefined if there are none. None of them is at fault. */
export function extraFieldsOf(fields: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return given.length === 0
    ? undefined
    : Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function faultOf(known: KnownNames, name: string, value: unknown): FieldFault[] {
  if (name === FILE) return [{ field: name, message: 'must be sent as a file of multipart/form-data' }];
  const meant = meantBy(known, name);
  if (meant !== undefined) return [unknownField(name, `: write ${meant}`)];
  if (!NAME.test(name)) return [unknownField(name)];
  if (typeof value === 'boolean' || (typeof value === 'string' && !hasUnstorable(value))) return [];
  if (typeof value !== 'number') {
    const message = 'must be text without NUL or half surrogate pairs, a number, true or false';
    return [{ field: name, message }];
  }
  // Of a larger one, digits are lost already.
  if (Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))) return [];
  return [{ field: name, message: 'is a number that is not kept to the digit; send it as text' }];
}
