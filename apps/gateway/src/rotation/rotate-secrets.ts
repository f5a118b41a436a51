import {
  UpstreamApiKeyReencrypter,
  DEFAULT_ACCOUNT_ID,
  RedisAccountStore,
  RedisEncryptionKeyIds,
  ReencryptionCounts,
  SecretCipher,
} from '#accounts';
import {
  closeRedis,
  createLogger,
  openRedisAndCheckRequirements,
  readEnvironment,
  type RedisClient,
  SecretsEnvironment,
  clockOfThisMachine,
} from '#platform';
import { EndpointSecretReencrypter, RedisEndpointStore } from '#webhooks';

/** Writers for standard output and standard error, line by line. */
export interface Console {
  out(line: string): void;
  err(line: string): void;
}

/**
 * Re-encrypts the stored secrets of all accounts with ENCRYPTION_KEY and prints a summary. Returns true if every secret
 * could be decrypted.
 * @throws {ConfigurationError} for an invalid environment variable; errors of Redis are passed on
 */
export async function rotateSecrets(console: Console): Promise<boolean> {
  const environment = readEnvironment(SecretsEnvironment);
  const logger = createLogger('rotate-secrets', environment.LOG_LEVEL, {
    write: (line) => {
      console.err(line.trimEnd());
    },
  });
  let unfit: unknown;
  const redis = await openRedisAndCheckRequirements(environment.REDIS_URL, 'failFast', logger, (error) => {
    unfit = error;
    redis.disconnect();
  });
  try {
    if (redis.status !== 'ready') throw new Error('Cannot connect to Redis at REDIS_URL');
    return printSummary(await rotateAll(environment, redis), console);
  } catch (error) {
    throw unfit ?? error;
  } finally {
    await closeRedis(redis);
  }
}

/** The counts of rotated and undecryptable secrets, by kind. */
export type RotationResult = Readonly<
  Record<'accountKeys' | 'signingSecrets' | 'webhookHeaders', ReencryptionCounts>
>;

/** Re-encrypts all secrets of {@link rotateSecrets} through an open Redis connection. */
export async function rotateAll(
  environment: Pick<SecretsEnvironment, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS_PREVIOUS' | 'REDIS_KEY_PREFIX'>,
  redis: RedisClient,
): Promise<RotationResult> {
  const prefix = environment.REDIS_KEY_PREFIX;
  const cipher = new SecretCipher(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS);
  const keys = new RedisEncryptionKeyIds(redis, prefix);
  // Register the current key before the first secret is encrypted with it. At the end, remove only the key ids that
  // are listed now: a process that starts meanwhile may register and use a further key. No process may still encrypt
  // with an earlier key that is listed now.
  const earlier = (await keys.list()).filter((id) => id !== cipher.keyId);
  await keys.add(cipher.keyId);

  const accounts = new RedisAccountStore(redis, prefix);
  const endpoints = new EndpointSecretReencrypter(
    new RedisEndpointStore(redis, prefix, clockOfThisMachine),
    cipher,
    clockOfThisMachine,
  );
  const result = {
    accountKeys: await new UpstreamApiKeyReencrypter(accounts, cipher).reencryptAll(),
    signingSecrets: new ReencryptionCounts(),
    webhookHeaders: new ReencryptionCounts(),
  };
  for (const account of [DEFAULT_ACCOUNT_ID, ...(await accounts.list()).map(({ id }) => id)]) {
    const { secrets, headers } = await endpoints.reencryptAll(account);
    result.signingSecrets.add(secrets);
    result.webhookHeaders.add(headers);
  }
  if (Object.values(result).every(({ failures }) => failures.length === 0)) await keys.remove(earlier);
  return result;
}

const KINDS = {
  accountKeys: ['upstream API keys of accounts', 'cannot decrypt the upstream API key'],
  signingSecrets: ['signing secrets of webhooks', 'cannot decrypt the signing secret'],
  webhookHeaders: ['request headers of webhooks', 'cannot decrypt the request headers'],
} as const;

function printSummary(result: RotationResult, console: Console): boolean {
  let whole = true;
  for (const kind of ['accountKeys', 'signingSecrets', 'webhookHeaders'] as const) {
    const { reencrypted, unchanged, failures } = result[kind];
    const [plural, fault] = KINDS[kind];
    const ids = [...new Set(failures.map(({ keyId }) => keyId))].join(', ');
    const keys = ids === '' ? '' : `; ids of their encryption keys: ${ids}`;
    console.out(
      `${plural}: ${reencrypted} rotated, ${unchanged} already encrypted with the current key, ${failures.length} could not be decrypted${keys}`,
    );
    for (const { subject, keyId } of failures)
      console.err(`${subject}: ${fault} (encrypted with the key ${keyId})`);
    whole &&= failures.length === 0;
  }
  if (!whole)
    console.err(
      'Add the missing keys to ENCRYPTION_KEYS_PREVIOUS, then run npm run rotate-secrets again. If a key is lost, see docs/operations.md.',
    );
  return whole;
}
