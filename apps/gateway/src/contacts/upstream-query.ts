import type { UpstreamQuery } from '#upstream';
import { readInput, unknownField } from '../input/input.pipe.js';
import { knownNames, meantBy } from '../input/known-names.js';
import { hasUnstorable } from '../input/rules.js';
import type { FieldFault } from '../problems/problem.js';
import { NoQuery, PageQuery } from './contacts.dto.js';

/** Parameters that nobody documented go to upstream: so many, of so many bytes together. */
const MOST_PARAMETERS = 20;
const MOST_BYTES = 2_048;
const NAME = /^[A-Za-z_][\w.[\]-]{0,63}$/;

const KNOWN = knownNames(Object.keys(new PageQuery()));

/**
 * What a caller asks of the contact list besides.
 * @throws {Problem} naming the parameters at fault
 */
export function readListQuery(given: unknown): UpstreamQuery {
  readInput(NoQuery, given, { othersFaults });
  return pairsOf(given, {});
}

/**
 * The page that a caller asks for, and what it asks for besides.
 * @throws {Problem} naming the parameters at fault
 */
export function readPageQuery(given: unknown): UpstreamQuery {
  const { page, limit } = readInput(PageQuery, given, { othersFaults });
  return [['page', page], ['limit', limit], ...pairsOf(given, { page, limit })];
}

function othersFaults(others: Readonly<Record<string, unknown>>): FieldFault[] {
  const faults = Object.entries(others).flatMap(([name, value]) => faultOf(name, value));
  if (faults.length > 0) return faults;
  const pairs = pairsOf(others, {});
  const bytes = pairs.reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
  if (pairs.length <= MOST_PARAMETERS && bytes <= MOST_BYTES) return [];
  const [field = ''] = pairs.at(-1) ?? [];
  const message = `is one parameter too many: there may be ${MOST_PARAMETERS} that are not documented, of ${MOST_BYTES} bytes together`;
  return [{ field, message }];
}

function faultOf(name: string, value: unknown): FieldFault[] {
  const meant = meantBy(KNOWN, name);
  if (meant !== undefined) return [unknownField(name, `: write ${meant}`)];
  if (!NAME.test(name)) return [unknownField(name)];
  if (textsOf(value).every((text) => !hasUnstorable(text))) return [];
  return [{ field: name, message: 'must be text without NUL or half surrogate pairs' }];
}

/** In the order of the names, so that the same question is asked in the same words. */
function pairsOf(given: unknown, without: object): [name: string, value: string][] {
  const parameters = typeof given === 'object' && given !== null ? Object.entries(given) : [];
  return parameters
    .filter(([name]) => !Object.hasOwn(without, name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, value]) => textsOf(value).map((text): [string, string] => [name, text]));
}

/** A parameter that comes more than once is a list. */
function textsOf(value: unknown): string[] {
  return [value].flat().filter((item): item is string => typeof item === 'string');
}
