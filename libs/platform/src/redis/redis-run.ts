import { Redis } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/** Time after which the id of the Redis run is read again, in milliseconds. */
const REFRESH_MS = 10_000;

/**
 * The Redis run to which a connection leads, as it was last read. `run` is the id; it is empty while it is unknown.
 */
interface SeenRun {
  run: string;
  /** When the id was last read, by `performance.now()`. */
  readAt: number;
  isReading: boolean;
}

const seen = new WeakMap<Redis, SeenRun>();

/**
 * Returns the id of the Redis run (the time from one start, restart or failover of Redis to the next) of a
 * connection, or '' if the id is unknown. The function returns at once, because the id is read in the background. The
 * id may thus be outdated.
 *
 * A send that is stored with an outdated id counts as stored before the current run began. The send is then checked
 * once more before it is relayed.
 */
export function lastSeenRedisRunId(client: RedisClient): string {
  // A Cluster has no single run, because each master restarts independently.
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
    // If the client has reconnected since it sent INFO, the reply is ignored, because the Redis run may have changed.
    if (client.stream === stream)
      Object.assign(state, { run: runOf(server, replication), readAt: performance.now() });
  } catch {
    // While Redis does not answer, the Redis run is unknown.
    state.run = '';
  }
  state.isReading = false;
}

/** Returns the id of a Redis run, in the same form as `find_redis_run` in `redis-run.lua`. */
function runOf(server: string, replication: string): string {
  const run = /run_id:([0-9a-f]+)/.exec(server)?.[1] ?? '';
  const former = /master_replid2:([0-9a-f]+)/.exec(replication)?.[1] ?? '0';
  if (run === '' || /^0+$/.test(former)) return run;
  return `${run}:${/master_replid:([0-9a-f]+)/.exec(replication)?.[1] ?? ''}`;
}
