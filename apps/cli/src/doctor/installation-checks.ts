import { RedisEncryptionKeyIds, SecretCipher } from '#accounts';
import { openBlobStore } from '#blobs';
import {
  checkRedisRequirements,
  closeRedis,
  CommonEnvironment,
  ConfigurationError,
  GatewayEnvironment,
  hasAppendOnlyFile,
  isReadOnlyReplica,
  isRedisNearlyFull,
  openRedis,
  readEnvironment,
  type RedisClient,
  readRedisTime,
  redisRefusalOf,
  findUnknownEnvironmentVariables,
  withDeadline,
  WorkerEnvironment,
} from '#platform';
import {
  type ContactReader,
  HttpUpstream,
  UpstreamIsTidingsError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
} from '#upstream';
import { duration } from '../output/duration.js';
import { fine, type Finding, problem } from './finding.js';

/** Time limit for the connection to Redis, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Time limit for the check of the blob store, in milliseconds. */
const STORE_TIMEOUT_MS = 10_000;
/** Difference between the clocks of this machine and Redis above which it is a problem, in milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;

/**
 * Checks the installation that the environment variables describe: the variables, Redis, the encryption key, the blob
 * store and the messaging service. Changes nothing, except that it writes a probe file to the blob store, and to
 * Redis a key that expires at once.
 */
export async function checkInstallation(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const variables = checkVariables(environment);
  const settings = settingsOf(environment);
  if (settings === undefined) return variables;
  return [
    ...variables,
    ...(await checkRedis(settings)),
    ...(await checkBlobStore(settings)),
    ...(await checkUpstream(settings)),
  ];
}

function checkVariables(environment: NodeJS.ProcessEnv): Finding[] {
  // Only gateways need API_KEY. If it is not set, as in the container of a worker, variables that only gateways read
  // are not checked.
  const isForGateway = (environment['API_KEY'] ?? '') !== '';
  const faults = [
    ...(isForGateway ? faultsOf(GatewayEnvironment, environment) : []),
    ...faultsOf(WorkerEnvironment, environment),
  ];
  const found = [...new Set(faults)].map((fault) =>
    problem('configuration', fault, 'see docs/configuration.md'),
  );
  const misspelt = findUnknownEnvironmentVariables(environment).map(({ name, nearest }) =>
    problem('configuration', `${name} is unknown and has no effect`, `did you mean ${nearest}?`),
  );
  const all = [...found, ...misspelt];
  if (all.length > 0) return all;
  return [
    fine(
      'configuration',
      isForGateway
        ? 'every variable is valid'
        : 'every variable of a worker is valid; a gateway also needs API_KEY',
    ),
  ];
}

function faultsOf(shape: new () => object, environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readEnvironment(shape, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
}

/**
 * Returns the settings that the checks of the stores and of the messaging service need. Gateways and workers share
 * these settings.
 */
function settingsOf(environment: NodeJS.ProcessEnv): CommonEnvironment | undefined {
  return faultsOf(CommonEnvironment, environment).length > 0
    ? undefined
    : readEnvironment(CommonEnvironment, environment);
}

async function checkRedis(settings: CommonEnvironment): Promise<Finding[]> {
  let lastError = '';
  const redis = openRedis(settings.REDIS_URL, 'failFast', (error) => {
    lastError = error.message;
  });
  try {
    try {
      await withDeadline(connected(redis), CONNECT_TIMEOUT_MS, 'the connection to Redis');
    } catch {
      if (isErrorReply(lastError)) return [refusal(lastError)];
      return [
        problem(
          'Redis',
          `cannot be reached${lastError === '' ? '' : `: ${lastError}`}`,
          'start Redis, or correct REDIS_URL',
        ),
      ];
    }
    return [...(await checkRedisServer(redis, settings)), ...(await checkEncryptionKey(redis, settings))];
  } catch (error) {
    return [refusal(error instanceof Error ? error.message : String(error))];
  } finally {
    await closeRedis(redis);
  }
}

/** Returns true for an error that Redis answered with, for example `WRONGPASS invalid username-password pair`. */
function isErrorReply(message: string): boolean {
  return /^[A-Z]{3,} /.test(message);
}

function refusal(message: string): Finding {
  const remedy =
    redisRefusalOf(message)?.remedy ??
    'correct the user and the password in REDIS_URL, or grant the user more commands';
  return problem('Redis', `answers with an error: ${message}`, remedy);
}

/** Writes a key that expires at once. Returns a finding if Redis refuses it. */
async function checkWrite(redis: RedisClient, prefix: string): Promise<Finding | undefined> {
  // A write to a replica would make the connection reconnect, and the next checks would fail.
  if (await isReadOnlyReplica(redis)) return refusal('READONLY Redis is a read-only replica');
  try {
    await redis.set(`${prefix}:doctor`, '1', 'PX', 1);
    return undefined;
  } catch (error) {
    return refusal(error instanceof Error ? error.message : String(error));
  }
}

async function connected(redis: RedisClient): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    redis.once('ready', resolve);
    // The first failed attempt to connect is enough for the finding.
    redis.once('close', () => {
      reject(new Error('the connection was closed'));
    });
  });
}

async function checkRedisServer(redis: RedisClient, settings: CommonEnvironment): Promise<Finding[]> {
  const found: Finding[] = [];
  try {
    await checkRedisRequirements(redis);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const fault of error.faults) {
      const [text = fault, ...remedy] = fault.split('; ');
      found.push(problem('Redis', text, remedy.join('; ')));
    }
  }
  if (!(await hasAppendOnlyFile(redis)))
    found.push(
      problem(
        'Redis',
        'does not write an append-only file: a restart loses stored sends',
        'run: redis-cli CONFIG SET appendonly yes (and appendfsync always), and set both in the configuration of Redis',
      ),
    );
  const refused = await checkWrite(redis, settings.REDIS_KEY_PREFIX);
  if (refused !== undefined) found.push(refused);
  else if (await isRedisNearlyFull(redis))
    found.push(
      problem(
        'Redis',
        'uses 80 % of its maxmemory or more; when it is full, the gateway answers requests to send with 503',
        'raise maxmemory',
      ),
    );
  const difference = Math.abs(
    Date.now() - (await readRedisTime(redis, `${settings.REDIS_KEY_PREFIX}:doctor`)),
  );
  if (difference > MAX_CLOCK_DIFFERENCE_MS)
    found.push(
      problem(
        'clock',
        `this machine and Redis differ by ${duration(difference)}`,
        'synchronize the clocks with NTP',
      ),
    );
  return found.length === 0 ? [fine('Redis', 'reachable, writable, persistent, never evicts')] : found;
}

async function checkEncryptionKey(redis: RedisClient, settings: CommonEnvironment): Promise<Finding[]> {
  const { keyIds } = new SecretCipher(settings.ENCRYPTION_KEY, settings.ENCRYPTION_KEYS_PREVIOUS);
  const recorded = await new RedisEncryptionKeyIds(redis, settings.REDIS_KEY_PREFIX).list();
  const missing = recorded.filter((id) => !keyIds.includes(id));
  if (missing.length === 0) return [fine('encryption key', 'fits the stored data')];
  return [
    problem(
      'encryption key',
      `stored secrets may be encrypted with a key that is not set (id ${missing.join(', ')})`,
      'set ENCRYPTION_KEY to that key, or add it to ENCRYPTION_KEYS_PREVIOUS',
    ),
  ];
}

async function checkBlobStore(settings: CommonEnvironment): Promise<Finding[]> {
  const check = 'blob store';
  try {
    const store = await openBlobStore(settings);
    await withDeadline(store.check(), STORE_TIMEOUT_MS, 'writing the test file');
    return [fine(check, 'can be written')];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [
      problem(
        check,
        `cannot be used: ${why}`,
        'check that the directory or bucket of BLOB_STORE exists, can be written and has free space',
      ),
    ];
  }
}

async function checkUpstream(settings: CommonEnvironment): Promise<Finding[]> {
  const check = 'messaging service';
  const { UPSTREAM_BASE_URL: baseUrl, UPSTREAM_API_KEY: apiKey } = settings;
  const upstream = new HttpUpstream(settings.UPSTREAM_TIMEOUT_MS);
  try {
    const list = await upstream.listContacts({ baseUrl, apiKey }, () => new ContactCount());
    await list.close();
    return [fine(check, `${list.reader.count} contacts at ${baseUrl}`)];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [problem(check, why, upstreamRemedy(error))];
  } finally {
    upstream.close();
  }
}

/** Counts the contacts of a list without storing them. */
class ContactCount implements ContactReader {
  count = 0;

  receive(): boolean {
    this.count += 1;
    return false;
  }
}

function upstreamRemedy(error: unknown): string {
  if (error instanceof UpstreamIsTidingsError)
    return 'set UPSTREAM_BASE_URL to the address of the messaging service, not of a Tidings gateway';
  if (error instanceof UpstreamStatusError && (error.status === 401 || error.status === 403))
    return 'set UPSTREAM_API_KEY to a valid key of the messaging service';
  if (error instanceof UpstreamStatusError && error.status >= 500)
    return 'wait until the messaging service works again; waiting sends are then relayed automatically';
  if (error instanceof UpstreamStatusError || error instanceof UpstreamReplyUnreadableError)
    return 'correct UPSTREAM_BASE_URL, which includes the path such as /v1';
  return 'start the messaging service, or correct UPSTREAM_BASE_URL';
}
