import { Redis } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/** Time after which the run of a connection is read again, in milliseconds. */
const REFRESH_MS = 10_000;

/** The run that a connection was last seen to belong to. */
interface SeenRun {
  run: string;
  readAt: number;
  isReading: boolean;
}

const seen = new WeakMap<Redis, SeenRun>();

/**
 * Returns the Redis run that a connection belonged to a few seconds ago (see `lua/includes/redis-run.lua`), or '' if it
 * is not known. The answer costs nothing, because the run is read in the background.
 *
 * A script may store this run instead of the current one: if Redis has begun another run since, the stored data count
 * as older than they are, and are checked once more.
 */
export function lastSeenRedisRun(client: RedisClient): string {
  // Each master of a Cluster has runs of its own.
  if (!(client instanceof Redis)) return '';
  let state = seen.get(client);
  if (state === undefined) {
    const created: SeenRun = { run: '', readAt: -Infinity, isReading: false };
    seen.set(client, created);
    client.on('close', () => {
      created.run = '';
      created.readAt = -Infinity;
    });
    state = created;
  }
  if (!state.isReading && performance.now() - state.readAt >= REFRESH_MS) void refresh(client, state);
  return state.run;
}

async function refresh(client: Redis, state: SeenRun): Promise<void> {
  state.isReading = true;
  const { stream } = client;
  try {
    const [server, replication] = await Promise.all([client.info('server'), client.info('replication')]);
    // The answer of an earlier connection says nothing about this one.
    if (client.stream === stream)
      Object.assign(state, { run: runOf(server, replication), readAt: performance.now() });
  } catch {
    // While Redis does not answer, its run is unknown. The connection reports the error.
    state.run = '';
  }
  state.isReading = false;
}

/** Does what `find_redis_run` of `redis-run.lua` does. */
function runOf(server: string, replication: string): string {
  const run = /run_id:([0-9a-f]+)/.exec(server)?.[1] ?? '';
  const former = /master_replid2:([0-9a-f]+)/.exec(replication)?.[1] ?? '0';
  if (run === '' || /^0+$/.test(former)) return run;
  return `${run}:${/master_replid:([0-9a-f]+)/.exec(replication)?.[1] ?? ''}`;
}
