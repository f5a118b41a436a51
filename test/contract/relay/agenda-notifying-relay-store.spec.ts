import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BlobStore } from '#blobs';
import {
  clockOfThisMachine,
  closeRedis,
  createLogger,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import { AgendaNotifyingRelayStore } from '#relay';
import type { StateChange } from '../../../libs/relay/src/send/relay-store.js';
import { fieldsKeptAcrossTransitions, type SendRecord } from '../../../libs/relay/src/send/send-record.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const ACCOUNT = 'default';
const CLAIM = { contactId: 'c1', messageId: 'm1' };

let server: TestRedis;
let redis: RedisClient;
let store: AgendaNotifyingRelayStore;
/** The tasks that were announced, each with its time. */
let announced: [task: string, time: unknown][];

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
});
afterAll(async () => {
  await closeRedis(redis);
  await server.dispose();
});
beforeEach(() => {
  announced = [];
  const scheduler = {
    announce: (_: string, task: string, time: unknown) => void announced.push([task, time]),
  };
  store = new AgendaNotifyingRelayStore(
    redis,
    newId('req'),
    clockOfThisMachine,
    // No send has a file.
    {} as BlobStore,
    createLogger('test', 'silent'),
    { relay: scheduler, schedule: scheduler },
  );
});

async function insert(): Promise<SendRecord> {
  const id = newId('snd');
  await store.insert(ACCOUNT, { id, phoneNumber: '+15551234567', type: 'text', message: 'Hi' });
  const record = await store.find(ACCOUNT, id);
  if (record === undefined) throw new Error('the send was not found');
  return record;
}
async function apply(record: SendRecord, change: Omit<StateChange, 'state'>): Promise<SendRecord> {
  const state = fieldsKeptAcrossTransitions(record.state);
  const changed = await store.apply(ACCOUNT, record, { ...change, state });
  if (changed === undefined) throw new Error('the send has changed');
  return changed;
}

describe('the check for due lanes', () => {
  it('is scheduled when scheduled sends are moved to their lanes, because the worker may die right afterwards', async () => {
    const order = { id: newId('snd'), phoneNumber: '+15551234567', type: 'text', message: 'Hi' };
    await store.insert(ACCOUNT, { ...order, sendAt: Date.now() - 1 });
    announced = [];
    expect(await store.promoteScheduled(ACCOUNT, 10)).toEqual(['+15551234567']);
    expect(announced).toEqual([['reconcile', expect.any(Number)]]);
  });

  it('is scheduled when a send is queued again for a resend', async () => {
    const failed = await apply(await apply(await insert(), { transition: 'fenced' }), {
      transition: 'refused',
    });
    announced = [];
    await apply(failed, { transition: 'resolved_resend' });
    expect(announced).toEqual([['reconcile', expect.any(Number)]]);
  });
});

describe('the check for the next send of a lane', () => {
  it.each([
    ['is cancelled', { transition: 'cancelled' }],
    ['expires', { transition: 'expired' }],
    ['is found by a poll', { transition: 'found', claim: CLAIM }],
  ] as const)('is scheduled for 100 ms later if the previous send %s', async (_, change) => {
    const first = await insert();
    await insert();
    announced = [];
    await apply(first, change);
    expect(announced).toEqual([['reconcile', 100]]);
  });

  it('is not scheduled if a worker has posted the previous send, because this worker continues with the lane', async () => {
    const first = await insert();
    await insert();
    announced = [];
    await apply(await apply(first, { transition: 'fenced' }), { transition: 'accepted', confirmInMs: 7 });
    expect(announced).toEqual([['confirm', 7]]);
  });

  it('is not scheduled if the lane has no other send', async () => {
    const only = await insert();
    announced = [];
    await apply(only, { transition: 'cancelled' });
    expect(announced).toEqual([]);
  });
});
