import type { FieldFault } from '../problems/problem.js';
import { unknownField } from './input.pipe.js';
import { type KnownNames, suggestedName } from './known-names.js';

/**
 * Returns the fault of an undocumented field or query parameter in a request with a token that is restricted to
 * contacts. The messaging service could understand such a name as a request for other contacts, so it must not reach
 * the service.
 */
export function restrictedTokenFault(
  known: KnownNames,
  name: string,
  kind: 'field' | 'parameter',
): FieldFault {
  const meant = suggestedName(known, name);
  if (meant !== undefined) return unknownField(name, meant);
  const message = `is not a documented ${kind}; a token that is restricted to contacts permits documented ${kind}s only`;
  return { field: name.slice(0, 100), message };
}
