import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';
import { HttpUpstream } from '#upstream';
import { createSimulator } from '../../apps/simulator/src/create-simulator.js';
import { startTestRedis, type TestRedis } from '../support/redis-server.js';
import { histories, type History } from './history.js';
import { type Lane, runHistory } from './run-history.js';
import { UpstreamWitness } from './upstream-witness.js';

/**
 * Number of histories that run concurrently. While one waits for Redis or the network, another uses the
 * processor.
 */
const LANES = 4;
const STEPS = { min: 38, max: 68 };
/** Request timeout for a busy machine, in milliseconds. No fault in the histories causes a timeout. */
const UPSTREAM_TIMEOUT_MS = 30_000;

const { env } = process;
const long = env['TIDINGS_LONG'] === '1';
const count = Number(env['TIDINGS_HISTORIES'] ?? (long ? 2_500 : 50));
const replay = env['TIDINGS_SEED'];
const path = env['TIDINGS_PATH'];
/** True for a mutant: the run ends with the first failure. */
const quick = env['TIDINGS_MUTANT'] !== undefined;
let isDecided = false;
/** Maximum number of simplifications of a failing history. */
const MAX_SIMPLIFICATIONS = 250;

/** Declares the test of one part of the histories. @param part number of the part, from 1 */
export function propertyOfTheFeed(part: number): void {
  let server: TestRedis;
  const lanes: Lane[] = [];

  beforeAll(async () => {
    server = await startTestRedis();
    for (let n = 0; n < LANES; n += 1) lanes.push(await openLane(server.url, n));
    // The histories kill workers, not Redis, so that Redis needs no append-only file.
    await lanes[0]?.redis.config('SET', 'appendonly', 'no');
  });

  afterAll(async () => {
    for (const { redis, simulator, upstream } of lanes) {
      upstream.close();
      await simulator.close();
      await closeRedis(redis);
    }
    await server.dispose();
  });

  it(
    'every difference between two reads is reported exactly once, whatever upstream does and whenever a worker is killed',
    async () => {
      const steps: number[] = [];
      const began = performance.now();
      const first = replay === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(replay);
      const used = path === undefined ? lanes : lanes.slice(0, 1);
      const results = await Promise.allSettled(
        used.map((lane, n) => assertProperty(lane, first + n, Math.ceil(count / used.length), steps)),
      );
      const seconds = ((performance.now() - began) / 1_000).toFixed(0);
      process.stdout.write(
        `part ${part}: ${steps.length} histories in ${seconds} s, median of steps ${median(steps)}, seeds from ${first}\n`,
      );
      const failures = results.flatMap((result) =>
        result.status === 'rejected' ? [result.reason as Error] : [],
      );
      if (failures[0] !== undefined) throw failures[0];
      expect(median(steps)).toBeGreaterThanOrEqual(path === undefined ? 50 : 0);
    },
    long ? 3 * 3_600_000 : 600_000,
  );
}

async function assertProperty(lane: Lane, seed: number, runs: number, steps: number[]): Promise<void> {
  let hasFailed = false;
  let simplifications = 0;
  const property = fc.asyncProperty(histories(STEPS), async (history) => {
    if (isDecided || simplifications === MAX_SIMPLIFICATIONS) return;
    if (hasFailed) simplifications += 1;
    else steps.push(history.steps.length);
    if (steps.length % 500 === 0) process.stdout.write(`${steps.length} histories so far\n`);
    try {
      await runHistory(lane, history);
    } catch (error) {
      isDecided = quick;
      hasFailed = true;
      throw error;
    }
  });
  const result = await fc.check(property, {
    ...{ seed, numRuns: path === undefined ? runs : 1, endOnFailure: quick },
    ...(path === undefined ? {} : { path }),
  });
  if (!result.failed) return;
  const words =
    result.errorInstance instanceof Error ? result.errorInstance.stack : String(result.errorInstance);
  throw new Error(
    [
      `A history failed. Replay it with: TIDINGS_SEED=${result.seed} TIDINGS_PATH=${result.counterexamplePath ?? ''}`,
      `After ${result.numRuns} histories and ${result.numShrinks} simplifications: ${inLines(result.counterexample?.[0])}`,
      words ?? '',
    ].join('\n'),
  );
}

async function openLane(url: string, database: number): Promise<Lane> {
  const redis = openRedis(parseRedisAddress(`${url}/${database}`), 'patient', () => undefined);
  await once(redis, 'ready');
  const simulator = await createSimulator();
  const { baseUrl } = await simulator.listen();
  return {
    ...{ redis, simulator, witness: new UpstreamWitness(simulator) },
    upstream: new HttpUpstream(UPSTREAM_TIMEOUT_MS),
    address: { baseUrl, apiKey: 'simulator-key' },
  };
}

function inLines(history: History | undefined): string {
  return [history?.setup, ...(history?.steps ?? [])].map((part) => JSON.stringify(part)).join('\n  ');
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
