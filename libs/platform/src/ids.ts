import { randomBytes } from 'node:crypto';

/** The kinds of objects that have an id of ours, by the id's prefix. */
export type IdPrefix = 'snd' | 'whk' | 'blb' | 'req';

/** A new unguessable id such as `snd_0f3a…`: the prefix and 128 random bits in hexadecimal. */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomBytes(16).toString('hex')}`;
}
