import { join } from 'node:path';
import type { Secrets } from './secrets.js';

/** Environment variables of this process or of a child process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Folders of a checkout. */
export interface Paths {
  /** Root folder of the checkout. */
  root: string;
  /** Folder for all state: Redis, the simulator, uploads, logs and secrets. */
  data: string;
}

export function pathsOf(root: string): Paths {
  return { root, data: join(root, '.data') };
}

/** Returns true if the variable is set. Empty text counts as unset, as in the gateway and the worker. */
export function isSet(environment: Environment, name: string): boolean {
  return (environment[name] ?? '') !== '';
}

/** Returns the environment with defaults for unset variables. */
function withDefaults(environment: Environment, defaults: Record<string, string>): Environment {
  const missing = Object.entries(defaults).filter(([name]) => !isSet(environment, name));
  return { ...environment, ...Object.fromEntries(missing) };
}

/** Returns the environment of the simulator. */
export function simulatorEnvironment(environment: Environment, secrets: Secrets, paths: Paths): Environment {
  return withDefaults(environment, {
    SIMULATOR_HOST: '127.0.0.1',
    SIMULATOR_PORT: '4010',
    SIMULATOR_API_KEY: simulatorKey(environment, secrets),
    SIMULATOR_STATE_FILE: join(paths.data, 'simulator.json'),
    LOG_LEVEL: 'warn',
  });
}

/**
 * Returns the environment that the gateway and the worker share.
 * @param started addresses of the embedded Redis and the simulator, if they run
 */
export function productEnvironment(
  environment: Environment,
  secrets: Secrets,
  paths: Paths,
  started: { redisUrl?: string; simulator?: string },
): Environment {
  const { redisUrl, simulator } = started;
  return withDefaults(environment, {
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    ...(simulator === undefined
      ? {}
      : {
          UPSTREAM_BASE_URL: `${simulator}/v1`,
          UPSTREAM_API_KEY: simulatorKey(environment, secrets),
        }),
    ENCRYPTION_KEY: secrets.encryptionKey,
    API_KEY: secrets.apiKey,
    BLOB_STORE: `file:${join(paths.data, 'blobs')}`,
    // `info` logs one line per request and attempt, in a file of limited size. The console shows warnings
    // only.
    LOG_LEVEL: 'info',
    // An empty value is kept: it allows no private network.
    ...(environment['WEBHOOK_ALLOW_NETWORKS'] === undefined
      ? { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8,::1/128' }
      : {}),
  });
}

function simulatorKey(environment: Environment, secrets: Secrets): string {
  const [given] = ['SIMULATOR_API_KEY', 'UPSTREAM_API_KEY'].filter((name) => isSet(environment, name));
  return (given === undefined ? undefined : environment[given]) ?? secrets.simulatorApiKey;
}
