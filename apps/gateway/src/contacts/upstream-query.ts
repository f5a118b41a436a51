import type { Principal } from '#accounts';
import type { UpstreamQuery } from '#upstream';
import { restrictedTokenFault } from '../input/documented-only.js';
import { readInput, unknownField } from '../input/input.pipe.js';
import { knownNames, suggestedName } from '../input/known-names.js';
import { hasUnstorable } from '../input/rules.js';
import type { FieldFault } from '../problems/problem.js';
import { NoQuery, PageQuery } from './contacts.dto.js';

/** Maximum number of undocumented query parameters, which are passed to upstream. */
const MAX_PARAMETERS = 20;
/** Maximum size of the names and values of these parameters together, in bytes. */
const MAX_BYTES = 2_048;
const NAME = /^[A-Za-z_][\w.[\]-]{0,63}$/;

const KNOWN = knownNames(Object.keys(new PageQuery()));

/**
 * Reads the undocumented query parameters of a request for the contact list.
 * @throws {Problem} that names the invalid parameters
 */
export function readListQuery(given: unknown): UpstreamQuery {
  readInput(NoQuery, given, { otherFieldFaults: otherParameterFaults });
  return pairsOf(given, {});
}

/**
 * Reads `page`, `limit` and the undocumented query parameters of a request for a message page.
 * @param caller who reads: tokens that are restricted to contacts must not use undocumented parameters, with which the
 * messaging service might select the messages of other contacts
 * @throws {Problem} that names the invalid parameters
 */
export function readPageQuery(given: unknown, { contactIds }: Pick<Principal, 'contactIds'>): UpstreamQuery {
  const { page, limit } = readInput(PageQuery, given, {
    repeatable: [],
    otherFieldFaults: contactIds === undefined ? otherParameterFaults : restrictedTokenFaults,
  });
  return [['page', page], ['limit', limit], ...pairsOf(given, { page, limit })];
}

function otherParameterFaults(others: Readonly<Record<string, unknown>>): FieldFault[] {
  const faults = Object.entries(others).flatMap(([name, value]) => faultOf(name, value));
  if (faults.length > 0) return faults;
  const pairs = pairsOf(others, {});
  const bytes = pairs.reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
  if (pairs.length <= MAX_PARAMETERS && bytes <= MAX_BYTES) return [];
  const [field = ''] = pairs.at(-1) ?? [];
  const message = `exceeds the limit for undocumented parameters: at most ${MAX_PARAMETERS} parameters with ${MAX_BYTES} bytes in total`;
  return [{ field, message }];
}

function restrictedTokenFaults(others: Readonly<Record<string, unknown>>): FieldFault[] {
  return Object.keys(others).map((name) => restrictedTokenFault(KNOWN, name, 'parameter'));
}

function faultOf(name: string, value: unknown): FieldFault[] {
  const meant = suggestedName(KNOWN, name);
  // The contact list has no documented parameter, so `page` is passed on there.
  if (meant !== undefined && meant !== name) return [unknownField(name, meant)];
  if (!NAME.test(name)) return [unknownField(name)];
  if (textsOf(value).every((text) => !hasUnstorable(text))) return [];
  return [{ field: name, message: 'must be text without NUL or unpaired surrogates' }];
}

/** Returns the parameters sorted by name, so that equal queries have the same cache key. */
function pairsOf(given: unknown, without: object): [name: string, value: string][] {
  const parameters = typeof given === 'object' && given !== null ? Object.entries(given) : [];
  return parameters
    .filter(([name]) => !Object.hasOwn(without, name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, value]) => textsOf(value).map((text): [string, string] => [name, text]));
}

/** Returns the values of a parameter. A repeated parameter has several. */
function textsOf(value: unknown): string[] {
  return [value].flat().filter((item): item is string => typeof item === 'string');
}
