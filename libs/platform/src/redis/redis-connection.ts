import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { withDeadline } from '../time/deadline.js';
import type { RedisAddress } from '../environment/redis-address.js';

/** Leaves out `replyMapping`, because its type does not allow undefined; the library's default applies. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** A connection to Redis in any layout. */
export type RedisClient = Redis | Cluster;

/**
 * Behaviour of a connection while Redis is away.
 *
 * - `failFast`: a command fails at once while there is no connection, and otherwise after a deadline. For callers
 * that need an answer.
 * - `patient`: a command waits until the connection is back. For blocking reads and BullMQ's workers.
 */
export type RedisBehaviour = 'failFast' | 'patient';

/**
 * Maximum time of a `failFast` command, in milliseconds. The API promises an answer within two seconds; the remaining
 * time covers the case of a busy process that rejects many callers at once.
 */
export const REDIS_COMMAND_TIMEOUT_MS = 1_250;

/**
 * Maximum time without a byte from a server that owes a reply, in milliseconds. After that the connection is closed.
 * After a failover the old master's host may have disappeared, and TCP alone waits for a quarter of an hour. A
 * patient connection may wait in a blocking read; BullMQ's longest one takes 10 s.
 */
const SOCKET_TIMEOUT_MS: Readonly<Record<RedisBehaviour, number>> = { failFast: 3_000, patient: 15_000 };

const MAX_RECONNECT_DELAY_MS = 1_000;
const SENTINEL_TIMEOUT_MS = 1_000;
/** Time until a patient command on a Cluster is retried while a master is away, in milliseconds. */
const CLUSTER_RETRY_MS = 100;
const CONNECT_TIMEOUT_MS = 5_000;
const DISCONNECT_TIMEOUT_MS = 100;

/** Opens a connection. It connects in the background and reconnects until it is closed. */
export function openRedis(
  address: RedisAddress,
  behaviour: RedisBehaviour,
  onError: (error: Error) => void,
): RedisClient {
  const options = optionsFor(behaviour);
  const client = connect(address, behaviour, options);
  client.on('error', onError);
  // A Cluster reports errors of one master in another event.
  if (client instanceof Cluster) client.on('node error', onError);
  return client;
}

function optionsFor(behaviour: RedisBehaviour): ConnectionOptions {
  const backoff = (attempt: number): number => Math.min(attempt * 50, MAX_RECONNECT_DELAY_MS);
  const shared: ConnectionOptions = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A broken connection must not delay the end of a process.
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    retryStrategy: backoff,
    socketTimeout: SOCKET_TIMEOUT_MS[behaviour],
    // After a failover the old master answers READONLY. Reconnect, and send the command to the new master.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  };
  return behaviour === 'patient'
    ? { ...shared, maxRetriesPerRequest: null }
    : {
        ...shared,
        maxRetriesPerRequest: 0,
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        commandTimeout: REDIS_COMMAND_TIMEOUT_MS,
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
        // A Sentinel that hangs must not prevent queries to the others.
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
        // With this check, `connect()` never settles if the cluster is down, and BullMQ's workers wait for it
        // endlessly. Without the check, commands fail with CLUSTERDOWN; the settings below retry them.
        enableReadyCheck: false,
        clusterRetryStrategy: (attempt) => Math.min(attempt * 50, MAX_RECONNECT_DELAY_MS),
        // The library's default fits neither case: it retries sixteen times, even commands that were under way.
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

/** Closes a connection: with QUIT if Redis answers within the deadline, otherwise by disconnecting. */
export async function closeRedis(client: RedisClient, deadlineMs = 1_000): Promise<void> {
  try {
    // The promise of QUIT may never settle if Redis is away.
    await withDeadline(client.quit(), deadlineMs, 'QUIT');
  } catch {
    // Redis is away, so QUIT is not needed.
  }
  client.disconnect();
}
