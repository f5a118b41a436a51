import { describe, expect, it } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import { DeadlineError } from '#platform';
import type { Send, SendIntake } from '#relay';
import { auditDetailsOf } from '../audit/audit-details.js';
import { SendsController } from './sends.controller.js';
import type { VisibleSends } from './visible-sends.js';

/** Resolves several sends with an intake that fails for the send `broken`. */
async function resolve(ids: string[]): Promise<{ results: unknown[]; audited: unknown }> {
  const intake: Pick<SendIntake, 'resolve'> = {
    resolve: (_, id) =>
      id === 'broken'
        ? Promise.reject(new DeadlineError('a request to Redis', 1))
        : Promise.resolve({ id } as Send),
  };
  const controller = new SendsController(intake as SendIntake, {} as VisibleSends);
  const request = {} as FastifyRequest;
  const caller = { account: 'default' } as Principal;
  const { results } = await controller.resolveMany(caller, { ids, outcome: 'sent' }, request);
  return { results, audited: auditDetailsOf(request).subjects };
}

describe('several sends in one request', () => {
  it('have a result each if Redis stops answering: what was resolved before is reported and audited', async () => {
    const { results, audited } = await resolve(['one', 'broken', 'two']);
    expect(results).toEqual([
      expect.objectContaining({ id: 'one', resolved: true, code: null }),
      expect.objectContaining({ id: 'broken', resolved: false, code: 'unavailable' }),
      expect.objectContaining({ id: 'two', resolved: false, code: 'unavailable' }),
    ]);
    expect(audited).toEqual(['one']);
  });

  it('are rejected as a whole if Redis does not answer to the first one', async () => {
    await expect(resolve(['broken', 'two'])).rejects.toThrow(DeadlineError);
  });
});
