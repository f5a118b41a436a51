import type { FastifyRequest } from 'fastify';

/** True if the body is a multipart form, which may contain an upload. */
export function isForm({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return /^\s*multipart\//i.test(headers['content-type'] ?? '');
}
