import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A stored secret cannot be decrypted: its key is unknown, its context differs, or its text is damaged. */
export class SecretDecryptionError extends Error {
  constructor(
    reason: string,
    /** Id of the encryption key that the secret names; `?` if it names none. */
    readonly keyId: string,
  ) {
    super(
      `A stored secret cannot be decrypted: ${reason}. Set ENCRYPTION_KEY or ENCRYPTION_KEYS_PREVIOUS to include the key that encrypted it.`,
    );
    this.name = 'SecretDecryptionError';
  }
}

/**
 * Encrypts stored secrets with AES-256-GCM. The result is `keyId.base64url(nonce, ciphertext, tag)`. It names the
 * key, so that keys can be rotated. It is bound to its `context`, the owner of the secret: it cannot be decrypted for
 * another owner.
 */
export class SecretBox {
  /** Id of the key that encrypts. */
  readonly keyId: string;
  /** Ids of all keys that decrypt, including {@link keyId}. */
  readonly keyIds: readonly string[];
  private readonly keys: ReadonlyMap<string, Buffer>;

  /**
   * @param key current encryption key, 32 bytes
   * @param previous earlier keys, which only decrypt
   */
  constructor(
    private readonly key: Buffer,
    previous: readonly Buffer[] = [],
  ) {
    this.keyId = idOf(key);
    this.keys = new Map([...previous, key].map((each) => [idOf(each), each]));
    this.keyIds = [...this.keys.keys()];
  }

  seal(secret: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${this.keyId}.${sealed.toString('base64url')}`;
  }

  /** @throws {SecretDecryptionError} */
  open(sealed: string, context: string): string {
    const keyId = keyIdOf(sealed);
    const [, text] = sealed.split('.');
    const key = this.keys.get(keyId);
    if (key === undefined || text === undefined)
      throw new SecretDecryptionError(`the encryption key ${keyId} is unknown`, keyId);
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
   * Encrypts a sealed secret with the current key. Returns it unchanged if the current key sealed it.
   * @throws {SecretDecryptionError}
   */
  reseal(sealed: string, context: string): string {
    const secret = this.open(sealed, context);
    return keyIdOf(sealed) === this.keyId ? sealed : this.seal(secret, context);
  }
}

/** Returns the key id of a sealed text, or `?`. An invalid text may itself be a secret, so only a valid id is shown. */
function keyIdOf(sealed: string): string {
  return /^([0-9a-f]{8})\./.exec(sealed)?.[1] ?? '?';
}

function idOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}
