import { randomBytes } from 'node:crypto';

/** Prefixes of the ids that Tidings creates, one for each kind of object. */
export type IdPrefix = 'snd' | 'whk' | 'blb' | 'req';

/** Distinguishes the tokens of this process from those of all others. */
const PROCESS_TOKEN = randomBytes(10).toString('hex');
let tokens = 0;

/** Returns a short text that no process has returned before. It can be guessed, and costs next to nothing. */
export function uniqueToken(): string {
  tokens += 1;
  return `${PROCESS_TOKEN}${tokens.toString(36)}`;
}

/**
 * Creates an id that nobody can guess, such as `snd_0f3a…`: the prefix and 128 random bits in hexadecimal.
 */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomBytes(16).toString('hex')}`;
}
