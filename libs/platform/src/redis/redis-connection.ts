import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { withDeadline } from '../time/deadline.js';
import type { RedisAddress } from '../environment/redis-address.js';

/** The reply mapping stays at the library's default, which its types want left out rather than undefined. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** A connection to Redis, whatever its layout. */
export type RedisClient = Redis | Cluster;

/**
 * How a connection behaves while Redis is away.
 *
 * - `failFast`: a command fails at once while there is no connection, and after a deadline otherwise: for
 *   callers that must be answered.
 * - `patient`: a command waits for the connection to come back: for blocking reads and BullMQ's workers, which are
 *   built to wait.
 */
export type RedisManners = 'failFast' | 'patient';

/**
 * How long a `failFast` command may take, in milliseconds. Callers are promised an answer within two seconds; the rest is
 * for many who are refused at once by a busy process.
 */
export const REDIS_COMMAND_TIMEOUT_MS = 1_250;

/**
 * A server that owes a reply and sends nothing for so long is given up, and its connection with it: after a failover the
 * old master's host may be gone without a word, and TCP alone would wait for a quarter of an hour. In milliseconds. A
 * patient connection may be waiting in a blocking read, of which BullMQ's are the longest: 10 s.
 */
const SILENCE_MS: Readonly<Record<RedisManners, number>> = { failFast: 3_000, patient: 15_000 };

const RECONNECT_CEILING_MS = 1_000;
const SENTINEL_TIMEOUT_MS = 1_000;
/** How soon a patient command on a Cluster is tried again while a master is away, in milliseconds. */
const TRY_AGAIN_MS = 100;
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
  // A Cluster tells of one of its masters by another name.
  if (client instanceof Cluster) client.on('node error', onError);
  return client;
}

function optionsFor(manners: RedisManners): ConnectionOptions {
  const backoff = (attempt: number): number => Math.min(attempt * 50, RECONNECT_CEILING_MS);
  const shared: ConnectionOptions = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A connection that is given up must not hold up the end of a process.
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    retryStrategy: backoff,
    socketTimeout: SILENCE_MS[manners],
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
        // One that hangs must not keep the others from being asked.
        sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
      });
    }
    case 'cluster': {
      const { nodes, username, password } = address;
      const patient = manners === 'patient';
      return new Cluster(nodes, {
        enableOfflineQueue: patient,
        // With it, `connect()` never settles when the cluster is down at that moment, and BullMQ's workers wait on it for ever.
        // Without it, commands are refused with CLUSTERDOWN, which is tried again below.
        enableReadyCheck: false,
        clusterRetryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_CEILING_MS),
        // The library's own patience is neither: it tries again sixteen times, and what was under way as well.
        retryDelayOnFailover: patient ? TRY_AGAIN_MS : 0,
        retryDelayOnClusterDown: patient ? TRY_AGAIN_MS : 0,
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
