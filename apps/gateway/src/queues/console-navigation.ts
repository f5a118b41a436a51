import type { FastifyRequest } from 'fastify';
import { pathOf } from '../http/request-path.js';
import { QUEUES_PATH } from './paths.js';

/**
 * True if a browser opens the page of the queues as a page of its own, without a credential: a person follows a link or
 * types the address. The console answers such a request, because it can ask for the credential.
 */
export function isNavigationToQueues({ headers, method, url }: FastifyRequest): boolean {
  const path = pathOf(url);
  return (
    method === 'GET' &&
    (path === QUEUES_PATH || path === `${QUEUES_PATH}/`) &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    headers['x-api-key'] === undefined &&
    headers.authorization === undefined
  );
}
