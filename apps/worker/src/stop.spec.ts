import { expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Job } from 'bullmq';
import { createLogger, type QueuePayloads } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { PollProcessor } from './poll/poll.processor.js';
import { RelayProcessor } from './relay/relay.processor.js';
import { SendSchedule } from './relay/send-schedule.js';
import { ACCOUNT_UPSTREAM, LANE_RUNNER, LOGGER, POLLER, RELAY_JOBS } from './tokens.js';

const LOG = { provide: LOGGER, useValue: createLogger('test', 'silent') };

it('stops all roles at once, even while the work of one role is still running', async () => {
  let end = (): void => undefined;
  let relayStopped = false;
  let polls = 0;
  const runningPoll = new Promise<void>((resolve) => (end = resolve));
  const poller = { check: () => (polls += 1), stop: () => undefined, ended: () => runningPoll };
  const lanes = { run: () => Promise.resolve(true), stop: () => (relayStopped = true) };

  @Module({
    providers: [
      RelayProcessor,
      { provide: LANE_RUNNER, useValue: lanes },
      { provide: SendSchedule, useValue: { look: () => undefined } },
      { provide: RELAY_JOBS, useValue: { wake: () => Promise.resolve() } },
      LOG,
    ],
  })
  class Relay {}
  @Module({
    providers: [
      PollProcessor,
      { provide: POLLER, useValue: poller },
      { provide: ACCOUNT_UPSTREAM, useValue: { stopWaiting: () => undefined } },
      LOG,
    ],
  })
  class Poll {}
  // Nest stops modules in reverse order of their imports.
  @Module({ imports: [Relay, Poll] })
  class Worker {}

  const app = await NestFactory.createApplicationContext(Worker, { logger: false });
  const [relay, poll] = [app.get(RelayProcessor), app.get(PollProcessor)];
  for (const processor of [relay, poll])
    Object.assign(processor, { _worker: { pause: () => Promise.resolve() } });
  await poll.process({ data: { account: 'default' } } as Job<QueuePayloads['poll']>);
  await eventually('the poll is running', () => polls === 1);
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await eventually('the relay is stopped', () => relayStopped);
  expect(closed).toBe(false);
  end();
  await closing;
});
