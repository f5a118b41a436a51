import {
  type CommonEnvironment,
  ConfigurationError,
  type Logger,
  logMessageOf,
  LuaScript,
  type RedisClient,
} from '#platform';
import { crossAccountRedisKeys } from './redis-account-keys.js';
import { SecretCipher } from '../secret/secret-cipher.js';

const registerEncryptionKeyScript = LuaScript.from(import.meta.url, 'lua/register-encryption-key.lua');

/** Stores in Redis the ids of the encryption keys that secrets in Redis may be encrypted with. */
export class RedisEncryptionKeyIds {
  private readonly key: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.key = crossAccountRedisKeys(prefix).encryptionKeys;
  }

  /**
   * Returns the recorded ids of encryption keys that the cipher lacks. If it lacks none, records the id of the
   * cipher's current encryption key.
   */
  async registerUnlessKeysAreMissing({ keyId, keyIds }: SecretCipher): Promise<string[]> {
    return (await registerEncryptionKeyScript.run(
      this.redis,
      { encryptionKeys: this.key },
      { sealingKey: keyId, ring: keyIds },
    )) as string[];
  }

  /**
   * Records the id of an encryption key. Unlike {@link registerUnlessKeysAreMissing}, does not check whether this
   * process has all encryption keys whose ids are recorded.
   */
  async add(id: string): Promise<void> {
    await this.redis.sadd(this.key, id);
  }

  list(): Promise<string[]> {
    return this.redis.smembers(this.key);
  }

  /** Removes ids. Call this method only for encryption keys that no stored secret is encrypted with any more. */
  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.redis.srem(this.key, ...ids);
  }
}

/**
 * Records the id of this process's encryption key in Redis: now if Redis is connected, otherwise when Redis connects.
 * If this fails, it is tried again at each new connection to Redis until it succeeds.
 *
 * @param onMissingKeys called with the error if missing encryption keys are found only after this function has
 * returned
 * @throws {ConfigurationError} if stored secrets may be encrypted with a key that the environment variables lack
 */
export async function registerEncryptionKeyId(
  environment: Pick<CommonEnvironment, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS_PREVIOUS' | 'REDIS_KEY_PREFIX'>,
  redis: RedisClient,
  logger: Logger,
  onMissingKeys: (error: ConfigurationError) => void,
): Promise<void> {
  const keys = new RedisEncryptionKeyIds(redis, environment.REDIS_KEY_PREFIX);
  const cipher = new SecretCipher(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS);
  let loggedReason = '';
  const attempt = async (): Promise<boolean> => {
    try {
      const missing = await keys.registerUnlessKeysAreMissing(cipher);
      if (missing.length > 0) throw unknownKeys(missing);
      return true;
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      const reason = logMessageOf(error);
      if (reason === loggedReason) return false;
      loggedReason = reason;
      logger.warn(
        { err: error },
        'could not register the id of the encryption key in Redis; trying again at the next connection to Redis',
      );
      return false;
    }
  };
  if (redis.status === 'ready' && (await attempt())) return;
  const again = (): void => {
    attempt().then((done) => {
      if (done) redis.off('ready', again);
    }, onMissingKeys);
  };
  redis.on('ready', again);
}

function unknownKeys(ids: readonly string[]): ConfigurationError {
  const which = ids.length === 1 ? 'the key' : 'the keys';
  return new ConfigurationError([
    `ENCRYPTION_KEY: stored secrets may be encrypted with ${which} ${ids.join(', ')}, missing from ENCRYPTION_KEY ` +
      'and ENCRYPTION_KEYS_PREVIOUS; add the missing keys to ENCRYPTION_KEYS_PREVIOUS, then run: npm run rotate-secrets',
  ]);
}
