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

it('has every role take nothing more at once, however long what another has under way lasts', async () => {
  let end = (): void => undefined;
  let told = false;
  let looks = 0;
  const hangs = new Promise<void>((resolve) => (end = resolve));
  const poller = { look: () => (looks += 1), stop: () => undefined, ended: () => hangs };
  const lanes = { run: () => Promise.resolve(true), stop: () => (told = true) };

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
  // Roles are stopped in the order that is the reverse of this one.
  @Module({ imports: [Relay, Poll] })
  class Worker {}

  const app = await NestFactory.createApplicationContext(Worker, { logger: false });
  const [relay, poll] = [app.get(RelayProcessor), app.get(PollProcessor)];
  for (const processor of [relay, poll])
    Object.assign(processor, { _worker: { pause: () => Promise.resolve() } });
  await poll.process({ data: { account: 'default' } } as Job<QueuePayloads['poll']>);
  await eventually('the poll is under way', () => looks === 1);
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await eventually('the relay takes nothing more', () => told);
  expect(closed).toBe(false);
  end();
  await closing;
});
