import { SecretDecryptionError, type SecretCipher } from './secret-cipher.js';

/** A stored secret that could not be decrypted. */
export interface ReencryptionFailure {
  /**
   * Text that names the owner of the secret, for example `account a1`. It never contains the secret itself.
   */
  subject: string;
  /** Id of the key that the secret was encrypted with, or `?` if the stored text contains no valid id. */
  keyId: string;
}

/** Counts the results of re-encrypting secrets of one kind with the current encryption key. */
export class ReencryptionCounts {
  reencrypted = 0;
  /** Number of secrets that were already encrypted with the current key. */
  unchanged = 0;
  readonly failures: ReencryptionFailure[] = [];

  /** Adds the counts of one record, such as an account. Called after the re-encrypted record is stored. */
  add({ reencrypted, unchanged, failures }: ReencryptionCounts): void {
    this.reencrypted += reencrypted;
    this.unchanged += unchanged;
    this.failures.push(...failures);
  }

  /**
   * Re-encrypts an encrypted secret with the current key, and counts the result. Returns `sealed` unchanged if it
   * cannot be decrypted.
   */
  reencrypt(cipher: SecretCipher, sealed: string, context: string, subject: string): string {
    try {
      const after = cipher.reencrypt(sealed, context);
      if (after === sealed) this.unchanged += 1;
      else this.reencrypted += 1;
      return after;
    } catch (error) {
      if (!(error instanceof SecretDecryptionError)) throw error;
      this.failures.push({ subject, keyId: error.keyId });
      return sealed;
    }
  }
}
