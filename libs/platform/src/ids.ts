import { randomBytes } from 'node:crypto';

/** Prefixes of the ids that Tidings creates, one for each kind of object. */
export type IdPrefix = 'snd' | 'whk' | 'blb' | 'req';

/**
 * Creates an id that nobody can guess, such as `snd_0f3a…`: the prefix and 128 random bits in hexadecimal.
 */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomBytes(16).toString('hex')}`;
}
