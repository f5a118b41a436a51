import { SealBrokenError, type SecretBox } from './secret-box.js';

/** A stored secret that could not be opened. */
export interface BrokenSeal {
  /** What it belongs to; never the secret. */
  subject: string;
  /** Of the key that it names. */
  keyId: string;
}

/** What sealing the secrets of one kind anew came to. */
export class SealTally {
  rotated = 0;
  /** Sealed with the key of today before. */
  current = 0;
  readonly broken: BrokenSeal[] = [];

  /** Counts what became of the secrets of a record once that is stored. */
  add({ rotated, current, broken }: SealTally): void {
    this.rotated += rotated;
    this.current += current;
    this.broken.push(...broken);
  }

  /** Seals a secret anew and counts it; one that cannot be opened stays as it is. */
  reseal(box: SecretBox, sealed: string, context: string, subject: string): string {
    try {
      const after = box.reseal(sealed, context);
      if (after === sealed) this.current += 1;
      else this.rotated += 1;
      return after;
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      this.broken.push({ subject, keyId: error.keyId });
      return sealed;
    }
  }
}
