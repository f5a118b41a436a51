import type { IncomingMessage } from 'node:http';
import { newId } from '#platform';

const VALID_ID = /^[\w.-]{1,128}$/;

/** Returns the `X-Request-Id` of the caller if it is a valid id, else a new id. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && VALID_ID.test(given) ? given : newId('req');
}
