import { expect, it } from '@jest/globals';
import { type BeforeApplicationShutdown, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Job } from 'bullmq';
import { createLogger, type QueuePayloads } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { DeliveriesProcessor } from './dispatch/deliveries.processor.js';
import { PollProcessor } from './poll/poll.processor.js';
import { RelayProcessor } from './relay/relay.processor.js';
import { DISPATCH, POLL, RELAY } from './tokens.js';

it('a worker that stops does not wait for the running work of one role before it stops the other roles', async () => {
  let end = (): void => undefined;
  let relayStopped = false;
  let polls = 0;
  const runningPoll = new Promise<void>((resolve) => (end = resolve));
  const poller = { check: () => (polls += 1), stop: () => undefined, ended: () => runningPoll };
  const lanes = { run: () => Promise.resolve(true), stop: () => (relayStopped = true) };

  const relayRole = {
    lanes,
    sendSchedule: { look: () => undefined },
    jobs: { wake: () => Promise.resolve() },
    logger: createLogger('test', 'silent'),
  };
  @Module({ providers: [RelayProcessor, { provide: RELAY, useValue: relayRole }] })
  class Relay {}
  const pollRole = { poller, upstream: { stopWaiting: () => undefined } };
  @Module({ providers: [PollProcessor, { provide: POLL, useValue: pollRole }] })
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

it('a worker that stops takes no further deliveries while it waits for its attempts to end', async () => {
  let end = (): void => undefined;
  const attempts = new Promise<void>((resolve) => (end = resolve));
  const role = {
    deliveries: { work: () => Promise.resolve(), drain: () => attempts },
  };
  @Module({ providers: [DeliveriesProcessor, { provide: DISPATCH, useValue: role }] })
  class Dispatch implements BeforeApplicationShutdown {
    async beforeApplicationShutdown(): Promise<void> {
      await role.deliveries.drain();
    }
  }
  const app = await NestFactory.createApplicationContext(Dispatch, { logger: false });
  let isPaused = false;
  Object.assign(app.get(DeliveriesProcessor), {
    _worker: { pause: () => Promise.resolve((isPaused = true)) },
  });
  const closing = app.close();
  await eventually('the worker takes no jobs', () => isPaused);
  end();
  await closing;
});
