import {
  type CommonEnvironment,
  ConfigurationError,
  type Logger,
  LuaScript,
  type RedisClient,
} from '#platform';
import { registryKeys } from './redis-account-keys.js';
import { SecretBox } from '../secret/secret-box.js';

const note = LuaScript.from(import.meta.url, 'lua/note-encryption-key.lua');

/** The ids of the encryption keys that something in Redis may be sealed with. */
export class RedisEncryptionKeys {
  private readonly key: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.key = registryKeys(prefix).encryptionKeys;
  }

  /** Notes that the ring's key seals from now on, or else answers the noted ids that the ring lacks. */
  async note({ keyId, keyIds }: SecretBox): Promise<string[]> {
    return (await note.run(
      this.redis,
      { encryptionKeys: this.key },
      { sealingKey: keyId, ring: keyIds },
    )) as string[];
  }

  /** Notes an id whatever else is noted. */
  async add(id: string): Promise<void> {
    await this.redis.sadd(this.key, id);
  }

  list(): Promise<string[]> {
    return this.redis.smembers(this.key);
  }

  /** Nothing is sealed with these any more. */
  async forget(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.redis.srem(this.key, ...ids);
  }
}

/**
 * Notes the key that this process seals with, now if Redis is there, else as soon as it is.
 *
 * @param unfit is told later on of what would have been thrown
 * @throws {ConfigurationError} where something may be sealed with a key that the environment does not have
 */
export async function noteEncryptionKey(
  environment: Pick<CommonEnvironment, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS_PREVIOUS' | 'REDIS_KEY_PREFIX'>,
  redis: RedisClient,
  logger: Logger,
  unfit: (error: ConfigurationError) => void,
): Promise<void> {
  const keys = new RedisEncryptionKeys(redis, environment.REDIS_KEY_PREFIX);
  const box = new SecretBox(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS);
  const attempt = async (): Promise<boolean> => {
    try {
      const missing = await keys.note(box);
      if (missing.length > 0) throw unknownKeys(missing);
      return true;
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      logger.warn(
        { err: error },
        'could not register the id of the encryption key in Redis; the next connection to Redis retries',
      );
      return false;
    }
  };
  if (redis.status === 'ready' && (await attempt())) return;
  const again = (): void => {
    attempt().then((done) => {
      if (done) redis.off('ready', again);
    }, unfit);
  };
  redis.on('ready', again);
}

function unknownKeys(ids: readonly string[]): ConfigurationError {
  const which = ids.length === 1 ? 'a key of the id' : 'keys of the ids';
  return new ConfigurationError([
    `ENCRYPTION_KEY: stored secrets may be encrypted with ${which} ${ids.join(', ')}, which is neither this one nor in ` +
      'ENCRYPTION_KEYS_PREVIOUS; give it there, or encrypt them anew with both keys set: npm run rotate-secrets',
  ]);
}
