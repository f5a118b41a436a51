import type { IncomingMessage } from 'node:http';
import { newId } from '#platform';

const SANE = /^[\w.-]{1,128}$/;

/** The caller's own id of the request if it is sane, else a new one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : newId('req');
}
