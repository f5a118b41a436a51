import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Thrown when a stored secret cannot be decrypted: its encryption key is unknown, it was encrypted for another
 * owner, or it is damaged.
 */
export class SecretDecryptionError extends Error {
  constructor(
    reason: string,
    /** Id of the key that the secret was encrypted with, or `?` if the stored text contains no valid id. */
    readonly keyId: string,
  ) {
    super(`A stored secret cannot be decrypted: ${reason}.`);
    this.name = 'SecretDecryptionError';
  }
}

/**
 * Encrypts secrets for storage with AES-256-GCM. The encrypted text is `keyId.base64url(nonce, ciphertext,
 * tag)`. It contains the id of the encryption key, so that a new key can be introduced while older secrets
 * stay readable. A secret is encrypted for a `context`, which names its owner, and cannot be decrypted with
 * another context.
 */
export class SecretCipher {
  /** Id of the key that new secrets are encrypted with. */
  readonly keyId: string;
  /** Ids of all keys that secrets can be decrypted with, including {@link keyId}. */
  readonly keyIds: readonly string[];
  private readonly keys: ReadonlyMap<string, Buffer>;

  /**
   * @param key current encryption key, 32 bytes
   * @param previous earlier encryption keys, which are used only to decrypt
   */
  constructor(
    private readonly key: Buffer,
    previous: readonly Buffer[] = [],
  ) {
    this.keyId = idOf(key);
    this.keys = new Map([...previous, key].map((each) => [idOf(each), each]));
    this.keyIds = [...this.keys.keys()];
  }

  encrypt(secret: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${this.keyId}.${sealed.toString('base64url')}`;
  }

  /**
   * Decrypts a secret that {@link encrypt} encrypted.
   * @throws {SecretDecryptionError} if the key is unknown, the context differs, or the text is damaged
   */
  decrypt(sealed: string, context: string): string {
    const keyId = keyIdOf(sealed);
    const [, text] = sealed.split('.');
    const key = this.keys.get(keyId);
    if (key === undefined || text === undefined)
      throw new SecretDecryptionError(
        `the encryption key ${keyId} is unknown. Add this key to ENCRYPTION_KEYS_PREVIOUS`,
        keyId,
      );
    const bytes = Buffer.from(text, 'base64url');
    try {
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const opened = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([opened, decipher.final()]).toString('utf8');
    } catch {
      throw new SecretDecryptionError('the secret is damaged, or it belongs to another owner', keyId);
    }
  }

  /**
   * Re-encrypts an encrypted secret with the current key. Returns `sealed` unchanged if it is already encrypted
   * with the current key.
   * @throws {SecretDecryptionError} if the secret cannot be decrypted
   */
  reencrypt(sealed: string, context: string): string {
    const secret = this.decrypt(sealed, context);
    return keyIdOf(sealed) === this.keyId ? sealed : this.encrypt(secret, context);
  }
}

/**
 * Returns the id of the encryption key that an encrypted text names, or `?` if the text does not begin with a
 * valid id. No other part of an invalid text is returned, because it may be an unencrypted secret.
 */
function keyIdOf(sealed: string): string {
  return /^([0-9a-f]{8})\./.exec(sealed)?.[1] ?? '?';
}

function idOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}
