import { describe, expect, it } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { DeadlineError } from '#platform';
import type { Send, SendService } from '#relay';
import { auditDetailsOf } from '../audit/audit-details.js';
import { SendsController } from './sends.controller.js';
import type { VisibleSends } from './visible-sends.js';

/** Resolves several sends with an intake that fails for the send `broken`. */
async function resolve(ids: string[]): Promise<{ results: unknown[]; audited: unknown }> {
  const intake: Pick<SendService, 'resolve'> = {
    resolve: (_, id) =>
      id === 'broken'
        ? Promise.reject(new DeadlineError('a request to Redis', 1))
        : Promise.resolve({ id } as Send),
  };
  const controller = new SendsController(intake as SendService, {} as VisibleSends);
  const request = {} as FastifyRequest;
  const caller = { account: 'default' } as Principal;
  const { results } = await controller.resolveMany(caller, { ids, outcome: 'sent' }, request);
  return { results, audited: auditDetailsOf(request).subjects };
}

describe('a request to resolve several sends', () => {
  it('returns a result for each send even if Redis stops responding, and audits only the resolved sends', async () => {
    const { results, audited } = await resolve(['one', 'broken', 'two']);
    expect(results).toEqual([
      expect.objectContaining({ id: 'one', resolved: true, code: null }),
      expect.objectContaining({ id: 'broken', resolved: false, code: 'unavailable' }),
      expect.objectContaining({ id: 'two', resolved: false, code: 'unavailable' }),
    ]);
    expect(audited).toEqual(['one']);
  });

  it('fails as a whole if Redis does not respond for the first send', async () => {
    await expect(resolve(['broken', 'two'])).rejects.toThrow(DeadlineError);
  });
});
