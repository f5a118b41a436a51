import { expect, it } from '@jest/globals';
import type { Job } from 'bullmq';
import { AccountGoneError } from '#accounts';
import { createLogger, type QueuePayloads } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { RelayProcessor } from './relay.processor.js';

const JOBS = { wake: () => Promise.resolve() };

interface Setting {
  run: () => Promise<boolean>;
  lines?: string[];
}

function hintAt({ run, lines = [] }: Setting): { looks: () => number } {
  let looks = 0;
  const logger = createLogger('test', 'trace', { write: (line) => lines.push(line) });
  const lanes = { run, stop: () => undefined };
  const processor = new RelayProcessor(lanes, { look: () => (looks += 1) }, JOBS, logger);
  const data: QueuePayloads['relay'] = { account: 'default', lane: '+15551234567' };
  void processor.process({ data } as Job<QueuePayloads['relay']>);
  return { looks: () => looks };
}

it('has the schedule looked at after a hint at a lane with nothing in it', async () => {
  const { looks } = hintAt({ run: () => Promise.resolve(false) });
  await eventually('it was looked at', () => looks() === 1);
});

it('leaves the schedule alone after a lane that had something', async () => {
  let ran = false;
  const { looks } = hintAt({
    run: () => {
      ran = true;
      return Promise.resolve(true);
    },
  });
  await eventually('it ran', () => ran);
  expect(looks()).toBe(0);
});

it('drops the hint at a lane of an account that is gone without a word, and tells of what broke', async () => {
  const lines: string[] = [];
  hintAt({ lines, run: () => Promise.reject(new AccountGoneError('default')) });
  hintAt({ lines, run: () => Promise.reject(new Error('broken')) });
  await eventually('what broke is told', () => lines.length > 0);
  expect(lines).toEqual([expect.stringContaining('"broken"')]);
});
