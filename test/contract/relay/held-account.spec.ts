import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  LaneRunner,
  RedisUpstreamHealth,
  type RelayJobs,
  type RelaySettings,
  type Send,
  type Sender,
  StoreBackedSendService,
  UpstreamProbe,
} from '#relay';
import { accountKeys } from '#platform';
import { BudgetedUpstream, FAILURES_UNTIL_BREAKER_OPENS, UpstreamUnavailableError } from '#upstream';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, ANY_SERVICE, FeedHarness, UPSTREAM_TIMEOUT_MS } from '../feed/feed-harness.js';
import { eventually } from '../../support/eventually.js';
import { NO_HINTS } from './with-lane.js';

const SETTINGS: RelaySettings = {
  retryScheduleSeconds: [0.01, 3_600],
  safeStatuses: [429],
  maxAgeMs: 60_000,
  confirmMs: 60_000,
  confirmMediaMs: 60_000,
  onUnknown: 'hold',
  postTimeoutMs: UPSTREAM_TIMEOUT_MS,
};
const [ONE, TWO] = ['+15551234561', '+15551234562'];

let server: TestRedis;
let harness: FeedHarness;
let intake: StoreBackedSendService;
let health: RedisUpstreamHealth;
/** The lanes that were woken without a delay. */
let woken: string[];

const JOBS: RelayJobs = {
  wake: (_, lanes, delayMs = 0) => {
    if (delayMs === 0) woken.push(...lanes);
    return Promise.resolve();
  },
};

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  harness = await FeedHarness.open(server.url);
  intake = new StoreBackedSendService(harness.sends, harness.idempotencyKeys, NO_HINTS, ANY_SERVICE);
  health = new RedisUpstreamHealth(harness.redis, harness.prefix);
  woken = [];
});
afterEach(async () => {
  await harness.close();
});

/** Returns the objects that each process has of its own. */
function process(): { lanes: LaneRunner; probe: UpstreamProbe } {
  const free = (): Promise<void> => Promise.resolve();
  const token = (): Promise<number> => Promise.resolve(performance.now());
  const budget = {
    tryAcquire: async () => ({ waitMs: 0, requestedAt: await token() }),
    acquire: token,
    returnToken: free,
    shrink: free,
    grow: free,
  };
  const find = (): Promise<FeedHarness['address'] & { requestsPerSecond: number }> =>
    Promise.resolve({ ...harness.address, requestsPerSecond: 100 });
  const upstream = new BudgetedUpstream(harness.upstream, find, budget, health, harness.logger);
  const sender: Sender = {
    accountOf: () => Promise.resolve({ address: undefined, requestsPerSecond: 100 }),
    takeBudgetToken: (account) => upstream.takeBudgetToken(account, 'send'),
    isHeld: async (account) => (await health.outage(account)) !== undefined,
    post: (...args) => upstream.post(...args),
  };
  const lanes = new LaneRunner(
    harness.sends,
    sender,
    harness.lookup,
    harness.blobs,
    JOBS,
    SETTINGS,
    harness.logger,
  );
  const wokenLanes = { store: harness.sends, jobs: JOBS };
  return { lanes, probe: new UpstreamProbe(health, (a) => upstream.probe(a), 5_000, wokenLanes) };
}
const accept = async (phoneNumber: string, message: string): Promise<string> =>
  (await intake.accept(ACCOUNT, { phoneNumber, type: 'text', message })).id;
async function find(id: string): Promise<Send> {
  const send = await intake.find(ACCOUNT, id);
  if (send === undefined) throw new Error(`${id} was not found`);
  return send;
}
const attempts = async (id: string): Promise<string[]> =>
  (await find(id)).attempts.map(({ outcome, httpStatus }) => `${outcome} ${httpStatus ?? ''}`.trim());
const texts = (): (string | null)[] =>
  harness.simulator.ledger
    .read({ kinds: ['send.accepted'] })
    .entries.map((entry) => (entry.kind === 'send.accepted' ? entry.message : null));
const posts = (): number => harness.countRequests(/^POST /);
const isDue = async (lane: string): Promise<boolean> =>
  (await harness.sends.dueLanes(ACCOUNT, 100)).includes(lane);
const upstreamEvents = async (): Promise<string[]> =>
  (await harness.eventTypes()).filter((type) => type.startsWith('upstream.'));
const untilBack = (by: UpstreamProbe): Promise<boolean> =>
  eventually('upstream is back', async () => {
    await by.run(ACCOUNT);
    return (await health.outage(ACCOUNT)) === undefined;
  });

describe('sends while upstream answers the requests of an account with errors', () => {
  it('wait and do not fail: after recovery, the send that got the 401 and all others are posted in order', async () => {
    const { lanes, probe } = process();
    const ids = [await accept(ONE, 'n1'), await accept(ONE, 'n2'), await accept(ONE, 'n3')];
    const other = await accept(TWO, 'o1');
    harness.control('faults', { match: { method: 'POST' }, fault: { kind: 'slow', delayMs: 0 } });
    harness.control('faults', { match: { method: 'POST' }, fault: { kind: 'status', status: 401 } });
    harness.control('faults', {
      ...{ match: { method: 'GET' }, fault: { kind: 'status', status: 401 }, times: 'always' },
    });
    await lanes.run(ACCOUNT, ONE);
    await lanes.run(ACCOUNT, TWO);
    expect(posts()).toBe(2);
    expect(await Promise.all(ids.map(attempts))).toEqual([['accepted 200'], ['not_taken 401'], []]);
    expect(await attempts(other)).toEqual([]);
    expect([await isDue(ONE), await isDue(TWO)]).toEqual([false, false]);
    // A refused probe changes nothing.
    await eventually('a probe was made', async () => {
      await probe.run(ACCOUNT);
      return harness.countRequests(/^GET /) > 0;
    });
    expect(await health.outage(ACCOUNT)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('401'),
    });
    expect(woken).toEqual([]);

    harness.control('faults/clear');
    await untilBack(probe);
    expect(woken.sort()).toEqual([ONE, TWO]);
    // The sends are posted at once, although the schedule's second wait is an hour.
    for (const lane of [ONE, TWO]) await lanes.run(ACCOUNT, lane);
    expect(await attempts(ids[1] ?? '')).toEqual(['not_taken 401', 'accepted 200']);
    expect(texts()).toEqual(['n1', 'n2', 'n3', 'o1']);
    expect(await upstreamEvents()).toEqual(['upstream.unavailable', 'upstream.recovered']);
  });

  it('wait from the third consecutive 403 on; only the sends that got the first two 403 answers fail', async () => {
    const { lanes, probe } = process();
    const ids = ['n1', 'n2', 'n3', 'n4'].map((text) => accept(ONE, text));
    const [one = '', two = '', three = '', four = ''] = await Promise.all(ids);
    harness.control('faults', {
      match: { method: 'POST' },
      fault: { kind: 'status', status: 403 },
      times: 3,
    });
    await lanes.run(ACCOUNT, ONE);
    expect([(await find(one)).status, (await find(two)).status]).toEqual(['failed', 'failed']);
    expect(await find(three)).toMatchObject({
      status: 'queued',
      attempts: [{ outcome: 'not_taken', httpStatus: 403 }],
    });
    expect(await attempts(four)).toEqual([]);
    await untilBack(probe);
    await lanes.run(ACCOUNT, ONE);
    expect(texts()).toEqual(['n3', 'n4']);
  });

  it('are not held by three 403 answers if upstream accepted a send between them', async () => {
    const { lanes } = process();
    const refused = { kind: 'status', status: 403 };
    const faults = [refused, refused, { kind: 'slow', delayMs: 0 }, refused, refused];
    for (const fault of faults) harness.control('faults', { match: { method: 'POST' }, fault });
    const ids: string[] = [];
    for (const [i] of faults.entries()) ids.push(await accept(ONE, `n${i}`));
    await lanes.run(ACCOUNT, ONE);
    const statuses = (await Promise.all(ids.map(find))).map(({ status }) => status);
    expect(statuses).toEqual(['failed', 'failed', 'accepted', 'failed', 'failed']);
    expect(await upstreamEvents()).toEqual([]);
  });

  it('are attempted at growing intervals if upstream refuses only POSTs, which limits the number of events and requests', async () => {
    harness.control('faults', {
      match: { method: 'POST' },
      fault: { kind: 'status', status: 401 },
      times: 'always',
    });
    const one = process();
    const id = await accept(ONE, 'a');
    const began = performance.now();
    await eventually('upstream was down three times', async () => {
      await one.lanes.run(ACCOUNT, ONE);
      await one.probe.run(ACCOUNT);
      return (await upstreamEvents()).filter((type) => type === 'upstream.unavailable').length === 3;
    });
    // The first two outages last half a second and a second.
    expect(performance.now() - began).toBeGreaterThan(1_400);
    expect((await find(id)).status).toBe('queued');
  });

  it('are attempted at growing intervals if upstream answers every POST with 500 and all other requests normally, which limits the number of events and ambiguous sends', async () => {
    harness.control('faults', {
      match: { method: 'POST' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    const { lanes, probe } = process();
    let sends = 0;
    await eventually('upstream is down for the third time', async () => {
      if ((await health.outage(ACCOUNT)) === undefined) {
        const lane = `+1555123${1_000 + sends}`;
        sends += 1;
        await accept(lane, 'a');
        await lanes.run(ACCOUNT, lane);
      }
      await probe.run(ACCOUNT);
      return (await upstreamEvents()).filter((type) => type === 'upstream.unavailable').length === 3;
    });
    const key = accountKeys(harness.prefix, ACCOUNT)('upstream');
    const [since, probeAt] = (await harness.redis.hmget(key, 'unavailableSince', 'probeAt')).map(Number);
    // The first probe comes half a second after the start of the first outage, and a second after that of the second.
    expect((probeAt ?? NaN) - (since ?? NaN)).toBeGreaterThanOrEqual(2_000);
    expect(posts()).toBe(3 * FAILURES_UNTIL_BREAKER_OPENS);
  });

  it('do not wait forever behind a send that always gets a 403: that send fails after the next probe', async () => {
    const { lanes, probe } = process();
    const ids = ['n1', 'n2', 'n3'].map((text) => accept(ONE, text));
    const [, , three = ''] = await Promise.all(ids);
    harness.control('faults', {
      match: { method: 'POST' },
      fault: { kind: 'status', status: 403 },
      times: 'always',
    });
    await lanes.run(ACCOUNT, ONE);
    await untilBack(probe);
    await lanes.run(ACCOUNT, ONE);
    expect((await find(three)).status).toBe('failed');
  });
});

describe('sends while upstream is unreachable', () => {
  const numbers = Array.from({ length: FAILURES_UNTIL_BREAKER_OPENS + 3 }, (_, i) => `+1555123456${i}`);

  it('are not attempted by any process after several failures, and are posted when upstream recovers', async () => {
    const [a, b] = [process(), process()];
    const ids = await Promise.all(numbers.map((number) => accept(number, number)));
    const real = harness.address.baseUrl;
    harness.address.baseUrl = 'http://127.0.0.1:1/v1';
    for (const number of numbers) await a.lanes.run(ACCOUNT, number);
    for (let round = 0; round < 3; round += 1) {
      for (const number of numbers) await b.lanes.run(ACCOUNT, number);
    }
    const made = await Promise.all(ids.map(attempts));
    expect(made.flat()).toHaveLength(FAILURES_UNTIL_BREAKER_OPENS);
    expect(made.at(-1)).toEqual([]);
    expect(await upstreamEvents()).toEqual(['upstream.unavailable']);

    harness.address.baseUrl = real;
    await untilBack(b.probe);
    expect(woken).toEqual(expect.arrayContaining(numbers.slice(FAILURES_UNTIL_BREAKER_OPENS)));
    await eventually('all sends are accepted', async () => {
      for (const number of numbers) await a.lanes.run(ACCOUNT, number);
      return (await Promise.all(ids.map(find))).every(({ status }) => status === 'accepted');
    });
    expect([...texts()].sort()).toEqual([...numbers].sort());
    expect(await upstreamEvents()).toEqual(['upstream.unavailable', 'upstream.recovered']);
  });

  it('keep their retry schedule, because the attempt that revealed the outage does not count as a failure', async () => {
    const { lanes, probe } = process();
    const ids = await Promise.all(
      numbers.slice(0, FAILURES_UNTIL_BREAKER_OPENS).map((number) => accept(number, number)),
    );
    const real = harness.address.baseUrl;
    harness.address.baseUrl = 'http://127.0.0.1:1/v1';
    for (const number of numbers.slice(0, FAILURES_UNTIL_BREAKER_OPENS)) await lanes.run(ACCOUNT, number);
    const last = ids.at(-1) ?? '';
    expect((await harness.sends.find(ACCOUNT, last))?.state).toMatchObject({ refusals: 0, status: 'queued' });
    expect(await attempts(last)).toEqual(['not_taken']);
    harness.address.baseUrl = real;
    await untilBack(probe);
    await lanes.run(ACCOUNT, numbers[FAILURES_UNTIL_BREAKER_OPENS - 1] ?? '');
    expect(await attempts(last)).toEqual(['not_taken', 'accepted 200']);
  });

  it('wait for their next look-up until the outage ends, and their confirmation period does not count down meanwhile', async () => {
    const { lanes } = process();
    harness.control('faults', { match: { method: 'POST' }, fault: 'resetBefore' });
    const id = await accept(ONE, 'n1');
    await lanes.run(ACCOUNT, ONE);
    expect((await find(id)).status).toBe('relaying');
    const before = (await harness.sends.find(ACCOUNT, id))?.state.lookLeftMs;
    const blind = new LaneRunner(
      harness.sends,
      {
        accountOf: () => Promise.resolve({ address: undefined, requestsPerSecond: 1_000_000 }),
        takeBudgetToken: () => Promise.resolve(() => Promise.resolve()),
        isHeld: () => Promise.resolve(true),
        post: () => Promise.resolve(),
      },
      {
        lookUp: () => Promise.reject(new UpstreamUnavailableError('no route')),
        expeditePoll: () => Promise.resolve(),
        readList: () => Promise.resolve(),
      },
      harness.blobs,
      JOBS,
      SETTINGS,
      harness.logger,
    );
    await eventually('one look-up failed', async () => {
      await blind.run(ACCOUNT, ONE);
      return (await harness.sends.find(ACCOUNT, id))?.state.lookedAt === undefined;
    });
    const { state } = (await harness.sends.find(ACCOUNT, id)) ?? {};
    expect(state).toMatchObject({ status: 'relaying', lookLeftMs: before });
    // The lane waits for the end of the outage, not for the next look-up.
    expect(await isDue(ONE)).toBe(false);
    expect(await harness.sends.releaseWaitingLanes(ACCOUNT, 100)).toEqual([ONE]);
    await lanes.run(ACCOUNT, ONE);
    const after = (await harness.sends.find(ACCOUNT, id))?.state;
    expect(after?.lookLeftMs).toBe(before);
    expect(after?.lookedAt).toBeDefined();
  });
});
