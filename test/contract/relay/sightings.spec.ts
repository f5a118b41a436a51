import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  LaneRunner,
  MessageBinder,
  type RelayJobs,
  RelayRounds,
  type RelaySettings,
  type RelayStore,
  type Send,
  type Sightings,
  StoredSendIntake,
} from '#relay';
import { RedisMemory } from '../../support/redis-memory.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { A, House, UPSTREAM_TIMEOUT_MS } from '../feed/house.js';
import { eventually } from '../../support/eventually.js';

const NUMBER = '+15551234567';
/** Hints are lost here: what is due is found in the store. */
const JOBS: RelayJobs = { wake: () => Promise.resolve() };
const SETTINGS: RelaySettings = {
  retryScheduleSeconds: [0.02],
  safeStatuses: [429],
  maxAgeMs: 60_000,
  confirmMs: 1_200,
  confirmMediaMs: 1_200,
  onUnknown: 'resend',
  postTimeoutMs: UPSTREAM_TIMEOUT_MS,
};

let server: TestRedis;
let house: House;
let intake: StoredSendIntake;
let lane: LaneRunner;
let rounds: RelayRounds;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  house = await House.open(server.url);
  intake = new StoredSendIntake(house.sends, house.idempotencyKeys, JOBS);
  const sender = {
    admit: () => Promise.resolve(),
    isHeld: () => Promise.resolve(false),
    post: (_: string, send: Parameters<House['upstream']['send']>[1], beginBy: number) =>
      house.upstream.send(house.address, send, beginBy),
  };
  const { sends, lookup, blobs, logger } = house;
  lane = new LaneRunner(sends, sender, lookup, blobs, JOBS, SETTINGS, logger, () => 0);
  rounds = new RelayRounds(sends, lookup, blobs, JOBS, SETTINGS);
});
afterEach(async () => {
  await house.close();
});

async function accept(message = 'Hi'): Promise<string> {
  return (await intake.accept(A, { phoneNumber: NUMBER, type: 'text', message })).id;
}
async function find(id: string): Promise<Send> {
  const send = await intake.find(A, id);
  if (send === undefined) throw new Error('no such send');
  return send;
}
async function relayUntil(id: string, status: Send['status']): Promise<Send> {
  await eventually(`the send is ${status}`, async () => {
    await lane.run(A, NUMBER);
    return (await find(id)).status === status;
  });
  return find(id);
}
/** Another hand writes to the recipient. */
const write = (text: string): object =>
  house.control('messages', { direction: 'outbound', phoneNumber: NUMBER, text });
const posts = (): number => house.requests(/^POST /);
const isTold = async (type: string): Promise<boolean> => (await house.types()).includes(type);
/** Asks for sightings until Redis' clock has gone on by so much. */
async function confirmFor(ms: number): Promise<void> {
  const end = (await house.sends.now(A)) + ms;
  await eventually('the time is over', async () => {
    await rounds.confirm(A);
    return (await house.sends.now(A)) > end;
  });
}

describe('the time that a sighting has', () => {
  it('does not run while upstream cannot be looked at', async () => {
    house.control('settings', { sendVisibleDelayMs: 3_500 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    house.control('faults', {
      match: { method: 'GET' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    await confirmFor(3_000);
    expect(await isTold('send.unconfirmed')).toBe(false);
    house.control('faults/clear');
    await eventually('sent', async () => {
      await rounds.confirm(A);
      return (await find(id)).status === 'sent';
    });
    // The message showed up after more than the time there is, but in less than that of good looks.
    expect(await isTold('send.unconfirmed')).toBe(false);
  });

  it('ends with a look that succeeds, after as much of it as there is', async () => {
    house.control('settings', { sendLostProbability: 1 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    house.control('faults', {
      match: { method: 'GET' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    await confirmFor(2_000);
    house.control('faults/clear');
    const back = await house.sends.now(A);
    await eventually('told', async () => {
      await rounds.confirm(A);
      return isTold('send.unconfirmed');
    });
    expect((await house.sends.now(A)) - back).toBeGreaterThanOrEqual(SETTINGS.confirmMs);
    expect((await find(id)).status).toBe('accepted');
  });
});

describe('several messages that a send may be', () => {
  it('leave it unknown at once, if nobody knows that upstream took it; it is not posted again', async () => {
    house.control('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
    const id = await accept();
    await lane.run(A, NUMBER);
    write('Hi');
    const next = await accept('next');
    const send = await relayUntil(id, 'unknown');
    expect(send.reason).toContain('several messages');
    expect(await isTold('send.unknown')).toBe(true);
    await relayUntil(next, 'accepted');
    expect(posts()).toBe(2);
  });

  it('keep a send from going out whose POST Redis may have forgotten', async () => {
    const id = await accept();
    const before = await RedisMemory.of(house.redis, house.prefix);
    await relayUntil(id, 'accepted');
    await before.loseAllSince(server);
    write('Hi');
    await relayUntil(id, 'unknown');
    expect(posts()).toBe(1);
  });

  it('are told all, and one of them with the send, if upstream took it', async () => {
    const id = await accept();
    await relayUntil(id, 'accepted');
    write('Hi');
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    await house.sweepUntil('both are told', async () => {
      const types = await house.types();
      return types.filter((type) => type === 'message.sent').length === 2;
    });
    const told = (await house.told()).filter(({ type }) => type === 'message.sent');
    expect(told.filter(({ data }) => data['sendId'] === id)).toHaveLength(1);
    expect(posts()).toBe(1);
  });
});

describe('two polls that see the message at once', () => {
  it('both know whose it is, whichever of them binds it: only one of them will tell', async () => {
    house.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const sightings: Sightings = { account: A, contactId: 'c', fresh: [messageNow('m')], changed: [] };
    const first = new MessageBinder(house.sends, house.logger);
    const overtaken = Object.create(house.sends) as RelayStore;
    overtaken.awaiting = async (...query) => {
      await first.bind(sightings);
      return house.sends.awaiting(...query);
    };
    const bound = await new MessageBinder(overtaken, house.logger).bind(sightings);
    expect(bound.get('m')).toEqual({ sendId: id });
    expect(await find(id)).toMatchObject({ status: 'sent', messageId: 'm' });
  });
});

function messageNow(id: string): Sightings['fresh'][number] {
  const form = { direction: 'outbound' as const, to: NUMBER, body: 'Hi', attachments: 0 };
  return { ...form, id, timestamp: Date.now(), delivered: false, read: false, raw: {} };
}
