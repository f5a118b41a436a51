import { randomBytes, randomFillSync } from 'node:crypto';

/** Prefixes of the ids that Tidings creates, one for each kind of object. */
export type IdPrefix = 'snd' | 'whk' | 'blb' | 'req' | 'aud';

const BYTES_OF_AN_ID = 16;

/**
 * Random bytes for the next ids. They are requested for many ids at once, because this costs no more than for one id.
 */
const pool = Buffer.alloc(BYTES_OF_AN_ID * 256);
let used = pool.length;

/** Beginning of every text that {@link uniqueString} returns in this process. It differs in every process. */
const PROCESS_PREFIX = randomBytes(10).toString('hex');
let returned = 0;

/**
 * Returns a short text that no process has returned before. The text can be guessed, so it must not serve as a
 * secret.
 */
export function uniqueString(): string {
  returned += 1;
  return `${PROCESS_PREFIX}${returned.toString(36)}`;
}

/**
 * Creates an id that nobody can guess, such as `snd_0f3a…`: the prefix and 128 random bits in hexadecimal.
 */
export function newId(prefix: IdPrefix): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const from = used;
  used += BYTES_OF_AN_ID;
  return `${prefix}_${pool.toString('hex', from, used)}`;
}
