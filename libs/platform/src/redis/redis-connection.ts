import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { withDeadline } from '../time/deadline.js';
import { batchWritesTo } from './write-batching.js';
import type { RedisAddress } from '../environment/redis-address.js';

/** `RedisOptions` without `replyMapping`: the type allows undefined for this option, but the constructors do not. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** A connection to a single Redis server, to the master that Sentinel names, or to a Redis Cluster. */
export type RedisClient = Redis | Cluster;

/**
 * Behaviour of a connection while Redis is unreachable.
 *
 * - `failFast`: a command fails at once if there is no connection, and after a deadline if Redis does not
 * reply. For callers that need a quick answer.
 * - `patient`: a command waits until the connection is back. For blocking reads and BullMQ's workers.
 */
export type RedisBehaviour = 'failFast' | 'patient';

/**
 * Maximum duration of a `failFast` command, in milliseconds. The API promises an answer within two seconds. A
 * busy process needs the rest of that time to reject many callers at once.
 */
const COMMAND_TIMEOUT_MS = 1_000;
/** Time in which Redis must answer QUIT, in milliseconds. */
const QUIT_TIMEOUT_MS = 1_000;

/**
 * If a server that must reply sends nothing for this time, in milliseconds, the connection is closed. After a
 * failover, the host of the old master may be unreachable, and TCP alone would wait for a quarter of an hour.
 * The limit of a `patient` connection is longer, because a blocking read of BullMQ takes up to 10 s.
 */
const SOCKET_TIMEOUT_MS: Readonly<Record<RedisBehaviour, number>> = { failFast: 3_000, patient: 15_000 };

const MAX_RECONNECT_DELAY_MS = 1_000;
/** Minimum wait before the first attempt to reconnect, in milliseconds. Each further attempt waits longer. */
const RECONNECT_DELAY_MS = 50;
/** Minimum time between two reconnects because Redis is a read-only replica, in milliseconds. */
const REPLICA_RECONNECT_INTERVAL_MS = 1_000;
const SENTINEL_TIMEOUT_MS = 1_000;
/** Wait between two tries of a command while a master of a Redis Cluster is unreachable, in milliseconds. */
const CLUSTER_RETRY_MS = 100;
const CONNECT_TIMEOUT_MS = 5_000;
const DISCONNECT_TIMEOUT_MS = 100;

/** Error of the last attempt of a client to connect. Removed when the client is connected. */
const connectionErrors = new WeakMap<RedisClient, Error>();

/**
 * Returns why a client that {@link openRedis} returned cannot connect, for example because Redis answers that the
 * password is wrong. Undefined if the client is connected, or if no attempt to connect has failed yet. The commands
 * of a client that is not connected fail with an error that does not say why.
 */
export function connectionErrorOf(client: RedisClient): Error | undefined {
  return connectionErrors.get(client);
}

/**
 * Opens a connection to Redis and returns at once. The client connects in the background, and reconnects
 * until it is closed.
 */
export function openRedis(
  address: RedisAddress,
  behaviour: RedisBehaviour,
  onError: (error: Error) => void,
): RedisClient {
  const options = optionsFor(behaviour);
  const client = connect(address, behaviour, options);
  client.on('error', onError);
  client.on('error', (error: Error & { lastNodeError?: Error | null }) => {
    // A Cluster client that cannot connect to any server reports this, with the error of one server.
    connectionErrors.set(client, error.lastNodeError ?? error);
  });
  client.on('ready', () => {
    connectionErrors.delete(client);
  });
  if (client instanceof Cluster) {
    // A Cluster client reports the errors of a single server with the event `node error`.
    client.on('node error', onError);
    client.on('+node', batchWritesOf);
  } else batchWritesOf(client);
  return client;
}

function batchWritesOf(redis: Redis): void {
  redis.on('connect', () => {
    batchWritesTo(redis.stream);
  });
}

function optionsFor(behaviour: RedisBehaviour): ConnectionOptions {
  const backoff = (attempt: number): number => Math.min(attempt * RECONNECT_DELAY_MS, MAX_RECONNECT_DELAY_MS);
  const shared: ConnectionOptions = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A broken connection must not delay the end of a process.
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    retryStrategy: backoff,
    socketTimeout: SOCKET_TIMEOUT_MS[behaviour],
    reconnectOnError: reconnectIfReplica(behaviour),
  };
  return behaviour === 'patient'
    ? { ...shared, maxRetriesPerRequest: null }
    : {
        ...shared,
        maxRetriesPerRequest: 0,
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        commandTimeout: COMMAND_TIMEOUT_MS,
      };
}

/**
 * After a failover the old master answers READONLY. Returns a function that then makes the client reconnect, at most
 * once a second, to reach the new master. The value 2 makes a `patient` client send the command again, to the new
 * master. If the new connection leads to a read-only replica as well, the command fails with READONLY.
 */
function reconnectIfReplica(behaviour: RedisBehaviour): (error: Error) => boolean | 2 {
  let reconnectedAt = -Infinity;
  return (error) => {
    if (!error.message.startsWith('READONLY')) return false;
    const now = performance.now();
    if (now - reconnectedAt >= REPLICA_RECONNECT_INTERVAL_MS) reconnectedAt = now;
    // An answer that comes before the reconnect belongs to the connection that is being closed.
    const isOnClosingConnection = now - reconnectedAt < RECONNECT_DELAY_MS;
    return isOnClosingConnection && (behaviour === 'patient' ? 2 : true);
  };
}

function connect(address: RedisAddress, behaviour: RedisBehaviour, options: ConnectionOptions): RedisClient {
  switch (address.kind) {
    case 'standalone':
      return new Redis(address.url, options);
    case 'sentinel': {
      const { sentinels, name, username, password } = address;
      return new Redis({
        ...options,
        sentinels,
        name,
        // If one Sentinel hangs, this timeout makes the client ask the next one.
        sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
      });
    }
    case 'cluster': {
      const { nodes, username, password } = address;
      const patient = behaviour === 'patient';
      return new Cluster(nodes, {
        enableOfflineQueue: patient,
        // The ready check is off. If the ready check fails because the cluster is down, the promise of `connect()`
        // never settles, even after the cluster is up again. BullMQ's workers would wait for the promise forever.
        // Without the ready check, commands fail with CLUSTERDOWN, and a `patient` connection retries them.
        enableReadyCheck: false,
        clusterRetryStrategy: (attempt) => Math.min(attempt * 50, MAX_RECONNECT_DELAY_MS),
        // With a delay of 0, a failed command is not retried. A `failFast` connection does not retry, because the
        // command may have run already. A `patient` connection retries without limit. The library's default limit is
        // sixteen.
        retryDelayOnFailover: patient ? CLUSTER_RETRY_MS : 0,
        retryDelayOnClusterDown: patient ? CLUSTER_RETRY_MS : 0,
        ...(patient ? { maxRedirections: Infinity } : {}),
        redisOptions: {
          ...options,
          ...(username === undefined ? {} : { username }),
          ...(password === undefined ? {} : { password }),
        },
      });
    }
  }
}

/** Closes a connection with QUIT if Redis answers within a second, and otherwise by disconnecting. */
export async function closeRedis(client: RedisClient): Promise<void> {
  try {
    // The promise of QUIT may never settle if Redis is unreachable.
    await withDeadline(client.quit(), QUIT_TIMEOUT_MS, 'QUIT');
  } catch {
    // Redis does not answer, so the connection is closed without QUIT.
  }
  client.disconnect();
}
