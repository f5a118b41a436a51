import { expect, it, jest } from '@jest/globals';
import { createLogger } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';
import { tryToWakeWorker } from './wake-worker.js';

it.each([
  [['whk_1'], { endpointId: 'whk_1' }],
  [['whk_1', 'whk_2'], { endpoints: 2 }],
])('a failed wake-up is logged with the id or the number of its webhooks: %j', async (ids, fields) => {
  const logger = createLogger('test', 'silent');
  const warn = jest.spyOn(logger, 'warn');
  const error = new Error('Redis does not answer');
  const jobs: DeliveryJobs = {
    wake: async () => Promise.reject(error),
    remind: async () => Promise.resolve(),
  };
  await tryToWakeWorker(jobs, logger, 'a', ids);
  expect(warn).toHaveBeenCalledWith({ account: 'a', ...fields, err: error }, expect.any(String));
});
