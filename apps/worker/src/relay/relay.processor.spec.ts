import { expect, it } from '@jest/globals';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import { RelayProcessor } from './relay.processor.js';

it.each([
  ['has the schedule looked at after a hint at a lane with nothing in it', false, 1],
  ['leaves the schedule alone after a lane that had something', true, 0],
])('%s', async (_, hadWork, expected) => {
  let looks = 0;
  const processor = new RelayProcessor(
    { run: () => Promise.resolve(hadWork), stop: () => undefined },
    { look: () => (looks += 1) },
  );
  const data: QueuePayloads['relay'] = { account: 'default', lane: '+15551234567' };
  await processor.process({ data } as Job<QueuePayloads['relay']>);
  expect(looks).toBe(expected);
});
