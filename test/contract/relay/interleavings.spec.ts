import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  LaneRunner,
  type RelayJobs,
  type RelaySettings,
  type RelayStore,
  type Send,
  type Sender,
  StoredSendIntake,
} from '#relay';
import { UpstreamTimeoutError } from '#upstream';
import { RedisMemory } from '../../support/redis-memory.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { A, House, UPSTREAM_TIMEOUT_MS } from '../feed/house.js';
import { eventually } from '../../support/eventually.js';

const NUMBER = '+15551234567';
const text = { phoneNumber: NUMBER, type: 'text', message: 'Hi' };
/** Hints are lost here: what is due is found in the store. */
const JOBS: RelayJobs = { wake: () => Promise.resolve() };
const SETTINGS: RelaySettings = {
  retryScheduleSeconds: [0.02],
  safeStatuses: [429],
  maxAgeMs: 60_000,
  confirmMs: 800,
  confirmMediaMs: 800,
  onUnknown: 'hold',
  postTimeoutMs: UPSTREAM_TIMEOUT_MS,
};

let server: TestRedis;
let house: House;
let intake: StoredSendIntake;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  house = await House.open(server.url);
  intake = new StoredSendIntake(house.sends, house.idempotencyKeys, JOBS);
});
afterEach(async () => {
  await house.close();
});

const send: Sender['post'] = (_, request, beginBy) => house.upstream.send(house.address, request, beginBy);

function runner({
  post = send,
  store = house.sends,
  ...settings
}: Partial<RelaySettings> & { post?: Sender['post']; store?: RelayStore } = {}): LaneRunner {
  const sender = { admit: () => Promise.resolve(), isHeld: () => Promise.resolve(false), post };
  const { lookup, blobs, logger } = house;
  return new LaneRunner(store, sender, lookup, blobs, JOBS, { ...SETTINGS, ...settings }, logger, () => 0);
}
async function find(id: string): Promise<Send> {
  const found = await intake.find(A, id);
  if (found === undefined) throw new Error('no such send');
  return found;
}
async function relayUntil(id: string, status: Send['status'], by = runner()): Promise<Send> {
  await eventually(`the send is ${status}`, async () => {
    await by.run(A, NUMBER);
    return (await find(id)).status === status;
  });
  return find(id);
}
const posts = (): number => house.requests(/^POST /);
const sendEvents = async (): Promise<string[]> =>
  (await house.types()).filter((type) => type.startsWith('send.'));

describe('a POST that Redis forgets while it is under way', () => {
  /** Posts, then Redis loses all since `before`, then what else happens before the answer. */
  function forgetting(before: RedisMemory, meanwhile: () => Promise<unknown>): Sender['post'] {
    return async (...call) => {
      await send(...call);
      await before.loseAllSince(server);
      await meanwhile();
    };
  }

  it.each([
    ['is not noticed yet', () => Promise.resolve()],
    ['is looked for by others', () => runner().run(A, NUMBER)],
  ])('is not made again when whoever made it hears that it was taken, where the loss %s', async (_, then) => {
    house.control('settings', { sendVisibleDelayMs: 60_000 });
    const { id } = await intake.accept(A, text);
    const post = forgetting(await RedisMemory.of(house.redis, house.prefix), then);
    await runner({ post }).run(A, NUMBER);
    await relayUntil(id, 'accepted');
    expect(posts()).toBe(1);
    expect(await find(id)).toMatchObject({ attempts: [{ outcome: 'accepted' }] });
    expect(await sendEvents()).toEqual(['send.accepted']);
  });

  it('is not made again when whoever made it hears nothing: it ends as one that nobody knows of', async () => {
    house.control('settings', { sendVisibleDelayMs: 60_000 });
    const { id } = await intake.accept(A, text);
    const post = forgetting(await RedisMemory.of(house.redis, house.prefix), () =>
      Promise.reject(new UpstreamTimeoutError(UPSTREAM_TIMEOUT_MS)),
    );
    await runner({ post }).run(A, NUMBER);
    await eventually('it has an end', async () => {
      await runner().run(A, NUMBER);
      return ['accepted', 'unknown'].includes((await find(id)).status);
    });
    expect(posts()).toBe(1);
    expect((await find(id)).status).toBe('unknown');
  });
});

it('a POST that Redis forgot is found although the gateway’s clock is far ahead', async () => {
  const ahead = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 45_000);
  const { id } = await intake.accept(A, text);
  ahead.mockRestore();
  const before = await RedisMemory.of(house.redis, house.prefix);
  await relayUntil(id, 'accepted');
  await before.loseAllSince(server);
  await eventually('it has an end', async () => {
    await runner().run(A, NUMBER);
    return ['accepted', 'sent'].includes((await find(id)).status);
  });
  expect(posts()).toBe(1);
  expect((await find(id)).status).toBe('sent');
});

it('a wait that was for one send does not hold the next one when the first has left the lane meanwhile', async () => {
  house.control('faults', {
    match: { method: 'POST' },
    fault: { kind: 'status', status: 429, retryAfter: 600 },
    times: 1,
  });
  const { id } = await intake.accept(A, text);
  const { id: next } = await intake.accept(A, { ...text, message: 'next' });
  const store = Object.create(house.sends) as RelayStore;
  store.postpone = async (...call) => {
    if ((await find(id)).status === 'queued') await intake.cancel(A, id);
    return house.sends.postpone(...call);
  };
  await runner({ store }).run(A, NUMBER);
  await eventually('the next one is relayed by those who look at what is due', async () => {
    for (const lane of await house.sends.dueLanes(A, 10)) await runner().run(A, lane);
    return (await find(next)).status === 'accepted';
  });
});

it('a send that may have been taken once is not told to be expired when the second POST comes too late', async () => {
  house.control('settings', { sendVisibleDelayMs: 60_000 });
  house.control('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
  const { id } = await intake.accept(A, text);
  await relayUntil(id, 'relaying');
  const late = runner({ onUnknown: 'resend', maxAgeMs: 0 });
  await eventually('it has an end', async () => {
    await late.run(A, NUMBER);
    return ['expired', 'unknown'].includes((await find(id)).status);
  });
  expect(await find(id)).toMatchObject({
    status: 'unknown',
    reason: expect.stringContaining('SEND_MAX_AGE'),
  });
  expect(await sendEvents()).toEqual(['send.unknown']);
  expect(posts()).toBe(1);
});
