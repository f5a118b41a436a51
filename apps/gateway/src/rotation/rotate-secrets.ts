import {
  AccountSeals,
  DEFAULT_ACCOUNT,
  RedisAccountStore,
  RedisEncryptionKeys,
  SealTally,
  SecretBox,
} from '#accounts';
import {
  closeRedis,
  CommonEnvironment,
  createLogger,
  openFitRedis,
  readEnvironment,
  type RedisClient,
  systemClock,
} from '#platform';
import { EndpointSeals, RedisEndpointStore } from '#webhooks';

/** Where lines are written. */
export interface Console {
  out(line: string): void;
  err(line: string): void;
}

/**
 * Seals everything stored with ENCRYPTION_KEY, of all accounts, and tells what it came to. Answers whether all of it
 * could be opened.
 * @throws {ConfigurationError} for a wrong variable, and what Redis throws
 */
export async function rotateSecrets(console: Console): Promise<boolean> {
  const environment = readEnvironment(CommonEnvironment);
  const logger = createLogger('rotate-secrets', environment.LOG_LEVEL, {
    write: (line) => {
      console.err(line.trimEnd());
    },
  });
  let unfit: unknown;
  const redis = await openFitRedis(environment.REDIS_URL, 'failFast', logger, (error) => {
    unfit = error;
    redis.disconnect();
  });
  try {
    if (redis.status !== 'ready') throw new Error('Redis cannot be reached at REDIS_URL');
    return tell(await resealAll(environment, redis), console);
  } catch (error) {
    throw unfit ?? error;
  } finally {
    await closeRedis(redis);
  }
}

/** What became of the stored secrets, by kind. */
export type RotationResult = Readonly<Record<'accountKeys' | 'signingSecrets' | 'webhookHeaders', SealTally>>;

/** What {@link rotateSecrets} does on an open Redis. */
export async function resealAll(
  environment: Pick<CommonEnvironment, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS_PREVIOUS' | 'REDIS_KEY_PREFIX'>,
  redis: RedisClient,
): Promise<RotationResult> {
  const prefix = environment.REDIS_KEY_PREFIX;
  const box = new SecretBox(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS);
  const keys = new RedisEncryptionKeys(redis, prefix);
  // Noted before anything is sealed with it. Ids that are noted from now on stay: their processes have just begun.
  const earlier = (await keys.list()).filter((id) => id !== box.keyId);
  await keys.add(box.keyId);

  const accounts = new RedisAccountStore(redis, prefix);
  const endpoints = new EndpointSeals(new RedisEndpointStore(redis, prefix, systemClock), box, systemClock);
  const result = {
    accountKeys: await new AccountSeals(accounts, box).reseal(),
    signingSecrets: new SealTally(),
    webhookHeaders: new SealTally(),
  };
  for (const account of [DEFAULT_ACCOUNT, ...(await accounts.list()).map(({ id }) => id)]) {
    const { secrets, headers } = await endpoints.reseal(account);
    result.signingSecrets.add(secrets);
    result.webhookHeaders.add(headers);
  }
  if (Object.values(result).every(({ broken }) => broken.length === 0)) await keys.forget(earlier);
  return result;
}

const KINDS = {
  accountKeys: ['upstream keys of accounts', 'upstream key'],
  signingSecrets: ['signing secrets of webhooks', 'signing secret'],
  webhookHeaders: ['headers of webhooks', 'headers'],
} as const;

function tell(result: RotationResult, console: Console): boolean {
  let whole = true;
  for (const kind of ['accountKeys', 'signingSecrets', 'webhookHeaders'] as const) {
    const { rotated, current, broken } = result[kind];
    const [all, one] = KINDS[kind];
    const unopened = `${broken.length} could not be opened`;
    const ids = [...new Set(broken.map(({ keyId }) => keyId))].join(', ');
    console.out(
      `${all}: ${rotated} rotated, ${current} already current, ${unopened}${ids === '' ? '' : ` (key ${ids})`}`,
    );
    for (const { subject, keyId } of broken)
      console.err(`${subject}: the ${one} cannot be opened; it names the key ${keyId}`);
    whole &&= broken.length === 0;
  }
  return whole;
}
