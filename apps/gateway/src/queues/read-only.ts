import type { FastifyRequest } from 'fastify';
import { Problem } from '../problems/problem.js';
import { pathOf } from '../http/request-path.js';
import { isQueuesPath } from './paths.js';

const READS = ['GET', 'HEAD'];

/**
 * Rejects a request that could change a queue. No route would serve it either; this check also answers 405 at paths at
 * which other Bull Boards accept such requests. @throws {Problem} `method_not_allowed`
 */
export function assertQueuesAreOnlyRead({ method, url }: Pick<FastifyRequest, 'method' | 'url'>): void {
  if (READS.includes(method) || !isQueuesPath(pathOf(url))) return;
  const allow = READS.join(', ');
  throw new Problem('method_not_allowed', `Queues are read-only. This URL supports only ${allow}.`, {
    headers: { allow },
  });
}
