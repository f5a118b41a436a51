import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLogger } from '#platform';
import { type LaneRunner } from '#relay';
import { eventually } from '../../support/eventually.js';
import { startTestRedis } from '../../support/redis-server.js';
import { A } from '../feed/house.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, accept, find, relayUntil, memory, texts, posts } = relay;

/** A runner as in a process of its own, and how many warnings it gave that Redis lives another life. */
function told(): { runner: LaneRunner; lives: () => number } {
  const lines: string[] = [];
  const logger = createLogger('test', 'warn', { write: (line: string) => lines.push(line) });
  const lives = (): number => lines.filter((line) => line.includes('Redis lives another life')).length;
  return { runner: runner({ logger }), lives };
}

describe('a send', () => {
  it('whose POST Redis has forgotten is found upstream, and not posted again', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.loseAllSince(relay.redis);
    expect(await find(id)).toMatchObject({ status: 'queued' });
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
  });

  it('whose POST Redis has forgotten is bound by a poll that is faster than its lane', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.loseAllSince(relay.redis);
    await relay.harness.sweep();
    expect(await find(id)).toMatchObject({ status: 'sent' });
    await runner().run(A, NUMBER);
    expect(texts()).toEqual(['Hi']);
  });

  it('that waited while Redis began another life is looked for, and then goes out, once', async () => {
    const [one, two] = [await accept({ message: 'n0' }), await accept({ message: 'n1' })];
    await (await memory()).loseAllSince(relay.redis);
    await runner().run(A, NUMBER);
    expect(posts()).toBe(0);
    await relayUntil(one, 'accepted');
    await relayUntil(two, 'accepted');
    expect(texts()).toEqual(['n0', 'n1']);
  });

  it('that was about to be posted when Redis began another life is looked for first', async () => {
    const id = await accept();
    const before = await memory();
    const stale = await relay.harness.sends.head(A, NUMBER);
    await relayUntil(id, 'accepted');
    await before.loseAllSince(relay.redis);
    // Whoever read it in the life before must not go on as if nothing had happened.
    const { record } = stale ?? {};
    if (record === undefined) throw new Error('the lane is empty');
    const posting = { ...record.state, phase: 'posting' } as const;
    const fence = { transition: 'fenced', state: posting, redisRun: 'mustMatch' } as const;
    expect(await relay.harness.sends.apply(A, record, fence)).toBeUndefined();
  });

  it('that waited while Redis began another life has that told of: one warning a process and life, not one a send', async () => {
    const [first, second] = [told(), told()];
    const ids = [await accept({ message: 'n0' }), await accept({ message: 'n1' })];
    await (await memory()).loseAllSince(relay.redis);
    await relayUntil(ids[0] ?? '', 'relaying', first.runner);
    await relayUntil(ids[1] ?? '', 'relaying', second.runner);
    await relayUntil(ids[1] ?? '', 'accepted', first.runner);
    expect([first.lives(), second.lives()]).toEqual([1, 1]);
  });

  it('that is the first one of another life of Redis has that told of, though nothing was unfinished', async () => {
    const { runner: one, lives } = told();
    await relayUntil(await accept(), 'accepted', one);
    expect(lives()).toBe(0);
    for (let life = 1; life <= 2; life += 1) {
      await (await memory()).loseAllSince(relay.redis);
      await relayUntil(await accept(), 'accepted', one);
      await relayUntil(await accept(), 'accepted', one);
      expect(lives()).toBe(life);
    }
  });

  it('that another master did not know of, when it gave its place back, is looked for, and not posted again', async () => {
    const other = await startTestRedis();
    const [one, two] = [new Redis(relay.redis.url), new Redis(other.url)];
    try {
      await one.config('SET', 'repl-diskless-sync-delay', '0');
      await two.config('SET', 'repl-diskless-sync-delay', '0');
      const id = await accept();
      await replicateTo(two, relay.redis.url);
      // The second one becomes the master, and does not learn any more what the first one still does.
      await two.replicaof('NO', 'ONE');
      await relayUntil(id, 'accepted');
      await replicateTo(one, other.url);
      await one.replicaof('NO', 'ONE');
      expect(await find(id)).toMatchObject({ status: 'queued' });
      await relayUntil(id, 'sent');
      expect(texts()).toEqual(['Hi']);
      expect(posts()).toBe(1);
    } finally {
      one.disconnect();
      two.disconnect();
      await other.dispose();
    }
  });
});

async function replicateTo(redis: Redis, master: string): Promise<void> {
  const { hostname, port, password } = new URL(master);
  await redis.config('SET', 'masterauth', password);
  await redis.replicaof(hostname, Number(port));
  await eventually('replicated', async () =>
    (await redis.info('replication')).includes('master_link_status:up'),
  );
}
