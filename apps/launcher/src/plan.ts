import { join } from 'node:path';
import type { Secrets } from './secrets.js';

/** The environment of this process, or what is made of it for a child. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a checkout keeps its state. */
export interface Places {
  root: string;
  data: string;
}

export function placesOf(root: string): Places {
  return { root, data: join(root, '.data') };
}

/** Whether the variable is set to something; empty text counts as unset, as it does for the processes. */
export function isSet(environment: Environment, name: string): boolean {
  return (environment[name] ?? '') !== '';
}

/** Whatever the user has set, and defaults for the rest. */
function withDefaults(environment: Environment, defaults: Record<string, string>): Environment {
  const missing = Object.entries(defaults).filter(([name]) => !isSet(environment, name));
  return { ...environment, ...Object.fromEntries(missing) };
}

export function simulatorEnvironment(
  environment: Environment,
  secrets: Secrets,
  places: Places,
): Environment {
  return withDefaults(environment, {
    SIMULATOR_HOST: '127.0.0.1',
    SIMULATOR_PORT: '4010',
    SIMULATOR_API_KEY: simulatorKey(environment, secrets),
    SIMULATOR_STATE_FILE: join(places.data, 'simulator.json'),
    LOG_LEVEL: 'warn',
  });
}

/** What gateway and worker share. `simulator` is its address, if it runs; `redisUrl` that of the embedded Redis. */
export function productEnvironment(
  environment: Environment,
  secrets: Secrets,
  places: Places,
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
    BLOB_STORE: `file:${join(places.data, 'blobs')}`,
    // A line a request and attempt, in a file of bounded size; the console shows warnings.
    LOG_LEVEL: 'info',
    // Set to nothing it means what it says: no private network at all.
    ...(environment['WEBHOOK_ALLOW_NETWORKS'] === undefined
      ? { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8,::1/128' }
      : {}),
  });
}

function simulatorKey(environment: Environment, secrets: Secrets): string {
  const [given] = ['SIMULATOR_API_KEY', 'UPSTREAM_API_KEY'].filter((name) => isSet(environment, name));
  return (given === undefined ? undefined : environment[given]) ?? secrets.simulatorApiKey;
}

/** The address at which a process that listens on this host can be reached from this machine. */
export function addressFor(host: string | undefined, port: number): string {
  const open = host === undefined || ['', '0.0.0.0', '::', '::0', '127.0.0.1'].includes(host);
  const name = open ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
