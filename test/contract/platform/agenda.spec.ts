import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Agenda,
  type AgendaTime,
  closeRedis,
  newId,
  openRedis,
  parseRedisAddress,
  RedisAgenda,
  RedisAgendaWakeUps,
  RedisChannelSubscriber,
  type RedisClient,
  type ClaimedTask,
} from '#platform';
import { eventually } from '../../support/eventually.js';
import { MemoryAgenda } from '../../support/memory-agenda.js';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';
import { setBackClock } from '../../support/set-back-clock.js';

const HOUR_MS = 3_600_000;
const LEASE_MS = 60_000;

describe.each([
  ['the memory of a test', startTestRedis, true],
  ['one Redis', startTestRedis, false],
  ['a Redis Cluster', startTestCluster, false],
])('the task schedule in %s', (_, start, isMemory) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let agenda: Agenda;
  /** The agenda of another worker. */
  let other: Agenda;

  beforeAll(async () => {
    server = await start();
    redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
    await once(redis, 'ready');
  });
  afterAll(async () => {
    await closeRedis(redis);
    await server.dispose();
  });
  beforeEach(() => {
    prefix = newId('req');
    const memory = new MemoryAgenda();
    const open = (): Agenda => (isMemory ? memory : new RedisAgenda(redis, prefix, 'poll'));
    [agenda, other] = [open(), open()];
  });

  const at = (account: string, time: AgendaTime): Promise<void> =>
    agenda.schedule([{ account, round: 'look', time }]);
  const accountsOf = (tasks: readonly ClaimedTask[]): string[] => tasks.map(({ account }) => account);
  const take = async (by = agenda, leaseMs = LEASE_MS): Promise<ClaimedTask[]> =>
    (await by.claimDue(10, leaseMs)).tasks;
  const takeOne = async (by = agenda, leaseMs = LEASE_MS): Promise<ClaimedTask> => {
    const [task, ...more] = await take(by, leaseMs);
    if (task === undefined || more.length > 0) throw new Error('Not one task was due.');
    return task;
  };
  const nextInMs = async (): Promise<number | undefined> => (await agenda.claimDue(0, 0)).nextInMs;

  it('returns no task and no due time while the schedule is empty', async () => {
    expect(await agenda.claimDue(10, LEASE_MS)).toEqual({ tasks: [] });
  });

  it('can contain several different tasks of one account', async () => {
    await agenda.schedule(['look', 'trim'].map((round) => ({ account: 'a', round, time: 0 })));
    expect((await take()).map(({ round }) => round).sort()).toEqual(['look', 'trim']);
  });

  it('moves a task to a requested time only if that time is earlier than the scheduled time', async () => {
    await at('a', HOUR_MS);
    await at('a', 0);
    await at('a', HOUR_MS);
    expect(accountsOf(await take())).toEqual(['a']);
  });

  it('adds missing tasks and leaves existing tasks unchanged', async () => {
    await at('a', HOUR_MS);
    await agenda.addMissing(['a', 'b'].map((account) => ({ account, round: 'look', time: 0 })));
    expect(accountsOf(await take())).toEqual(['b']);
  });

  it('gives each task to only one of two workers that ask at the same time', async () => {
    const accounts = Array.from({ length: 100 }, (__, n) => `a${n}`);
    await agenda.schedule(accounts.map((account) => ({ account, round: 'look', time: 0 })));
    const takes = await Promise.all(
      Array.from({ length: 20 }, (__, n) => (n % 2 === 0 ? agenda : other).claimDue(10, LEASE_MS)),
    );
    const taken = takes.flatMap(({ tasks }) => accountsOf(tasks));
    expect(taken.sort()).toEqual(accounts.sort());
  });

  it('makes a task due again at the time that the last run returned', async () => {
    await at('a', 0);
    await agenda.complete(await takeOne(), 0);
    await agenda.complete(await takeOne(), HOUR_MS);
    expect(await take()).toEqual([]);
    expect(await nextInMs()).toBeGreaterThan(HOUR_MS / 2);
  });

  it.each([
    ['the worker still has the lease of the completed task', false],
    ['another worker has taken over the lease', true],
  ])('adds the further tasks that a completed task made due (%s)', async (__, isLost) => {
    await at('a', 0);
    const task = await takeOne(agenda, isLost ? 1 : LEASE_MS);
    if (isLost) await eventually('another worker has the task', async () => (await take(other)).length === 1);
    await agenda.complete(task, HOUR_MS, [{ account: 'b', round: 'look', time: 0 }]);
    expect(accountsOf(await take())).toEqual(['b']);
  });

  it('removes a task if its run returned no time for the next run', async () => {
    await at('a', 0);
    await agenda.complete(await takeOne(), undefined);
    expect(await agenda.claimDue(10, LEASE_MS)).toEqual({ tasks: [] });
  });

  it.each([
    ['no time', undefined],
    ['a later time', HOUR_MS],
  ])(
    'repeats a task after its run if the task was requested during the run, even if the run returned %s',
    async (__, time) => {
      await at('a', 0);
      const task = await takeOne();
      await at('a', 0);
      // The calls run one after the other.
      expect(await take(other)).toEqual([]);
      await agenda.complete(task, time);
      expect(accountsOf(await take(other))).toEqual(['a']);
    },
  );

  it('repeats a task at the earliest of the times that were requested during its run or returned by the run', async () => {
    await at('a', 0);
    const task = await takeOne();
    await at('a', 3 * HOUR_MS);
    await at('a', 2 * HOUR_MS);
    await agenda.complete(task, 4 * HOUR_MS);
    const next = await nextInMs();
    expect(next).toBeGreaterThan(HOUR_MS);
    expect(next).toBeLessThanOrEqual(2 * HOUR_MS);
  });

  it('does not run a task again for a request that was made before the last run of the task began', async () => {
    await at('a', 0);
    await takeOne(agenda, 1);
    await at('a', 0);
    await eventually('the lease has expired', async () => {
      const [task] = await take(other);
      if (task === undefined) return false;
      await other.complete(task, HOUR_MS);
      return true;
    });
    expect(await take()).toEqual([]);
  });

  it('gives the task of a dead worker to another worker when the lease expires', async () => {
    await at('a', 0);
    await takeOne(agenda, 1);
    await eventually('the task is due again', async () => (await take(other)).length === 1);
  });

  it('does not let a worker complete a task, or renew its lease of the task, after another worker has taken over the task', async () => {
    await at('a', 0);
    const lost = await takeOne(agenda, 1);
    let task: ClaimedTask | undefined;
    await eventually('the task is due again', async () => ([task] = await take(other)).length === 1);
    await at('a', 0);
    await agenda.complete(lost, HOUR_MS);
    await agenda.renew([lost], HOUR_MS);
    expect(await take()).toEqual([]);
    if (task !== undefined) await other.complete(task, HOUR_MS);
    expect(accountsOf(await take())).toEqual(['a']);
  });

  it('does not give a task to another worker if the worker that claimed the task renews its lease', async () => {
    await at('a', 0);
    const task = await takeOne(agenda, 1);
    await agenda.renew([task], HOUR_MS);
    expect(await take(other)).toEqual([]);
    expect(await nextInMs()).toBeGreaterThan(HOUR_MS / 2);
  });

  it('removes tasks, including a running task', async () => {
    await at('a', 0);
    await takeOne();
    await at('b', 0);
    await agenda.remove(['a', 'b'].map((account) => ({ account, round: 'look' })));
    expect(await agenda.claimDue(10, LEASE_MS)).toEqual({ tasks: [] });
  });

  it('returns the time until the next task when a task ends', async () => {
    await at('a', 0);
    expect(await agenda.complete(await takeOne(), HOUR_MS)).toBe(HOUR_MS);
    await at('b', 0);
    const next = await agenda.complete(await takeOne(), undefined, [
      { account: 'c', round: 'look', time: 500 },
    ]);
    expect(next).toBe(500);
  });

  it('has no next due time after the end of a task if no other task is scheduled', async () => {
    await at('a', 0);
    expect(await agenda.complete(await takeOne(), undefined)).toBeUndefined();
  });

  // The following tests change the clock of Redis, which the memory agenda does not use.
  if (isMemory) return;

  it("keeps the order of its tasks and the time until each task if Redis' clock is set back, even for a task whose process died", async () => {
    await at('first', 0);
    await takeOne(other);
    await agenda.schedule([{ account: 'first', round: 'look', time: 0 }]);
    await at('second', LEASE_MS + 5_000);
    expect(await nextInMs()).toBeGreaterThan(0);
    await setBackClock(redis, prefix, HOUR_MS);
    expect(await nextInMs()).toBeLessThanOrEqual(LEASE_MS);
    await redis.zadd(`${prefix}:{.agenda-poll}:due`, 'XX', 0, 'look first');
    expect(accountsOf(await take())).toEqual(['first']);
  });

  it('returns at most the requested number of due tasks, the earliest first, and the time until the next task', async () => {
    const now = Date.now();
    await at('late', { atMs: now - 1_000 });
    await at('later', { atMs: now - 500 });
    await at('latest', { atMs: now - 200 });
    await at('not yet', HOUR_MS);
    const first = await agenda.claimDue(2, LEASE_MS);
    expect(accountsOf(first.tasks)).toEqual(['late', 'later']);
    expect(first.nextInMs).toBe(0);
    const rest = await agenda.claimDue(2, LEASE_MS);
    expect(accountsOf(rest.tasks)).toEqual(['latest']);
    expect(rest.nextInMs).toBeGreaterThan(0);
    expect(rest.nextInMs).toBeLessThanOrEqual(LEASE_MS);
  });

  it('spreads recurring tasks over their interval; a repeated request does not move a task', async () => {
    const times: number[] = [];
    for (let n = 0; n < 60; n += 1) {
      const alone = new RedisAgenda(redis, newId('req'), 'poll');
      const tasks = [{ account: `a${n}`, round: 'look', time: { everyMs: HOUR_MS } }];
      await alone.schedule(tasks);
      const first = (await alone.claimDue(0, 0)).nextInMs ?? 0;
      await alone.schedule(tasks);
      expect(Math.abs(first - ((await alone.claimDue(0, 0)).nextInMs ?? 0))).toBeLessThan(10_000);
      times.push(first);
    }
    for (let third = 0; third < 3; third += 1) {
      const within = times.filter((ms) => Math.floor((3 * ms) / HOUR_MS) === third);
      expect(within.length).toBeGreaterThan(5);
    }
  });

  describe('wakes the processes that wait for its next task', () => {
    let channels: RedisChannelSubscriber;
    let woken: number[];

    beforeEach(async () => {
      channels = new RedisChannelSubscriber(
        () => openRedis(parseRedisAddress(server.url), 'patient', () => undefined),
        prefix,
        redis,
      );
      const wakeUps = new RedisAgendaWakeUps(channels, prefix, 'poll');
      woken = [];
      wakeUps.listen((inMs) => woken.push(inMs));
      await eventually('wake-ups arrive', () => wakeUps.isReceiving() && woken.length === 1);
      woken = [];
    });
    afterEach(async () => {
      await channels.close();
    });

    /** Wakes once more, waits for this and `count` earlier wake-ups, and returns the earlier ones. */
    const wakeUpsBefore = async (count: number): Promise<number[]> => {
      await at('the very first', { atMs: 1 });
      await eventually('the last wake-up arrived', () => woken.length > count);
      return woken.slice(0, count);
    };

    it('when a new task is due earlier than all other tasks, but not when the new task is due later', async () => {
      await at('a', HOUR_MS);
      await at('later', HOUR_MS * 2);
      await at('a', HOUR_MS / 2);
      await at('a', HOUR_MS);
      await agenda.addMissing([{ account: 'b', round: 'look', time: HOUR_MS / 4 }]);
      await agenda.addMissing([{ account: 'b', round: 'look', time: HOUR_MS / 8 }]);
      expect(await wakeUpsBefore(3)).toEqual([HOUR_MS, HOUR_MS / 2, HOUR_MS / 4]);
    });

    it('when another worker stops', async () => {
      await at('a', HOUR_MS);
      await other.wakeOthers();
      const [first, again = 0] = await wakeUpsBefore(2);
      expect(first).toBe(HOUR_MS);
      expect(again).toBeGreaterThan(HOUR_MS / 2);
      expect(again).toBeLessThanOrEqual(HOUR_MS);
    });

    it('when a finished task is due again at once, but not when it is due again later', async () => {
      await at('a', 0);
      await agenda.complete(await takeOne(), HOUR_MS);
      await agenda.schedule([{ account: 'a', round: 'look', time: 0 }]);
      await agenda.complete(await takeOne(), 0);
      expect(await wakeUpsBefore(3)).toEqual([0, 0, 0]);
    });
  });

  it("uses Redis' clock, even if the clock of the process is wrong", async () => {
    const clock = Date.now;
    try {
      for (const offMs of [-HOUR_MS, HOUR_MS]) {
        Date.now = () => clock() + offMs;
        await at(`due ${offMs}`, 0);
        await at(`not due ${offMs}`, HOUR_MS / 2);
      }
      expect(accountsOf(await take()).sort()).toEqual([`due ${-HOUR_MS}`, `due ${HOUR_MS}`].sort());
    } finally {
      Date.now = clock;
    }
  });
});
