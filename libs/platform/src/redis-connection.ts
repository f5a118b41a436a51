import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { withDeadline } from './deadline.js';
import type { RedisAddress } from './redis-address.js';

/** The reply mapping stays at the library's default, which its types want left out rather than undefined. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** A connection to Redis, whatever its layout. */
export type RedisClient = Redis | Cluster;

/**
 * How a connection behaves while Redis is away.
 *
 * - `failFast`: a command fails at once while there is no connection, and after two seconds' worth of silence
 *   otherwise: for callers that must be answered.
 * - `patient`: a command waits for the connection to come back: for blocking reads and BullMQ's workers, which are
 *   built to wait.
 */
export type RedisManners = 'failFast' | 'patient';

/** How long a `failFast` command may take, in milliseconds. Callers are promised an answer within two seconds. */
export const REDIS_COMMAND_TIMEOUT_MS = 1_500;

const RECONNECT_CEILING_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const DISCONNECT_TIMEOUT_MS = 100;

/** Opens a connection; it connects in the background and reconnects until it is closed. */
export function openRedis(
  address: RedisAddress,
  manners: RedisManners,
  onError: (error: Error) => void,
): RedisClient {
  const options = optionsFor(manners);
  const client = connect(address, manners, options);
  client.on('error', onError);
  return client;
}

function optionsFor(manners: RedisManners): ConnectionOptions {
  const backoff = (attempt: number): number => Math.min(attempt * 50, RECONNECT_CEILING_MS);
  const shared: ConnectionOptions = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A connection that is given up must not hold up the end of a process.
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    retryStrategy: backoff,
    // After a failover the old master answers READONLY: reconnect, and send the command again there.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  };
  return manners === 'patient'
    ? { ...shared, maxRetriesPerRequest: null }
    : {
        ...shared,
        maxRetriesPerRequest: 0,
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        commandTimeout: REDIS_COMMAND_TIMEOUT_MS,
      };
}

function connect(address: RedisAddress, manners: RedisManners, options: ConnectionOptions): RedisClient {
  switch (address.kind) {
    case 'standalone':
      return new Redis(address.url, options);
    case 'sentinel': {
      const { sentinels, name, username, password } = address;
      return new Redis({
        ...options,
        sentinels,
        name,
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
      });
    }
    case 'cluster': {
      const { nodes, username, password } = address;
      return new Cluster(nodes, {
        enableOfflineQueue: manners === 'patient',
        clusterRetryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_CEILING_MS),
        redisOptions: {
          ...options,
          ...(username === undefined ? {} : { username }),
          ...(password === undefined ? {} : { password }),
        },
      });
    }
  }
}

/** Closes a connection, politely if Redis answers within the deadline, else by cutting it. */
export async function closeRedis(client: RedisClient, deadlineMs = 1_000): Promise<void> {
  try {
    // Its own promise is not enough: said to a Redis that is away, it may never be answered nor refused.
    await withDeadline(client.quit(), deadlineMs, 'QUIT');
  } catch {
    // Redis is away: there is nobody to say goodbye to.
  }
  client.disconnect();
}
