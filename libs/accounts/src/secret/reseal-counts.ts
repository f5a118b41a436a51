import { SecretDecryptionError, type SecretBox } from './secret-box.js';

/** A stored secret that could not be decrypted. */
export interface ResealFailure {
  /** Owner of the secret; never the secret itself. */
  subject: string;
  /** Id of the encryption key that the secret names. */
  keyId: string;
}

/** Counts of a rotation of the encryption key, for secrets of one kind. */
export class ResealCounts {
  rotated = 0;
  /** Number of secrets that already were encrypted with the current key. */
  unchanged = 0;
  readonly failures: ResealFailure[] = [];

  /** Adds the counts of a record, once the record is stored. */
  add({ rotated, unchanged, failures }: ResealCounts): void {
    this.rotated += rotated;
    this.unchanged += unchanged;
    this.failures.push(...failures);
  }

  /** Encrypts a secret with the current key and counts it. A secret that cannot be decrypted stays unchanged. */
  reseal(box: SecretBox, sealed: string, context: string, subject: string): string {
    try {
      const after = box.reseal(sealed, context);
      if (after === sealed) this.unchanged += 1;
      else this.rotated += 1;
      return after;
    } catch (error) {
      if (!(error instanceof SecretDecryptionError)) throw error;
      this.failures.push({ subject, keyId: error.keyId });
      return sealed;
    }
  }
}
