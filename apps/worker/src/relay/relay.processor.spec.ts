import { expect, it } from '@jest/globals';
import type { Job } from 'bullmq';
import { AccountNotFoundError } from '#accounts';
import { createLogger, type QueuePayloads } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { RelayProcessor } from './relay.processor.js';

const IDLE_JOBS = { wake: () => Promise.resolve() };

interface HintOptions {
  runLane: (account: string, lane: string) => Promise<boolean>;
  more?: string[];
  logLines?: string[];
}

function processHint({ runLane, more, logLines = [] }: HintOptions): { checks: () => number } {
  let checks = 0;
  const logger = createLogger('test', 'trace', { write: (line) => logLines.push(line) });
  const lanes = { run: runLane, stop: () => undefined };
  const processor = new RelayProcessor({
    lanes,
    sendSchedule: { readAgendaNow: () => (checks += 1) },
    jobs: IDLE_JOBS,
    logger,
  });
  const data: QueuePayloads['relay'] = { account: 'default', lane: '+15551234567', ...(more && { more }) };
  void processor.process({ data } as Job<QueuePayloads['relay']>);
  return { checks: () => checks };
}

it('a relay worker checks for due scheduled sends if it gets a job for a recipient without queued sends', async () => {
  const { checks } = processHint({ runLane: () => Promise.resolve(false) });
  await eventually('the schedule was checked', () => checks() === 1);
});

it('a relay worker does not check for due scheduled sends if it gets a job for a recipient with queued sends', async () => {
  let ran = false;
  const { checks } = processHint({
    runLane: () => {
      ran = true;
      return Promise.resolve(true);
    },
  });
  await eventually('the lane ran', () => ran);
  expect(checks()).toBe(0);
});

it('a relay worker relays the due sends of every recipient that a job names', async () => {
  const lanes: string[] = [];
  processHint({
    more: ['+15551234568', '+15551234569'],
    runLane: (_, lane) => {
      lanes.push(lane);
      return Promise.resolve(true);
    },
  });
  await eventually('three lanes ran', () => lanes.length === 3);
  expect(lanes).toEqual(['+15551234567', '+15551234568', '+15551234569']);
});

it('a relay worker logs an error that occurs while it relays the sends of a recipient, unless the account was removed', async () => {
  const logLines: string[] = [];
  processHint({ logLines, runLane: () => Promise.reject(new AccountNotFoundError('default')) });
  processHint({ logLines, runLane: () => Promise.reject(new Error('broken')) });
  await eventually('the error is logged', () => logLines.length > 0);
  expect(logLines).toEqual([expect.stringContaining('"broken"')]);
});
