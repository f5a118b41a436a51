/** What to do when Redis refuses commands, by the first word of its answer. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['OOM', 'raise maxmemory in the Redis configuration'],
  ['READONLY', 'set REDIS_URL to the address of the master, not of a read-only replica'],
  ['NOREPLICAS', 'start the replicas of Redis, or lower its min-replicas-to-write'],
  ['MISCONF', 'free space on the disk of Redis; the log of Redis says why it cannot save its data'],
  [
    'NOPERM',
    'grant the user in REDIS_URL the missing commands and keys; the log contains the answer of Redis',
  ],
  ['WRONGPASS', 'correct the user and the password in REDIS_URL'],
  ['NOAUTH', 'set the password in REDIS_URL'],
  ['LOADING', 'wait until Redis has loaded its data'],
]);

/** An answer with which Redis refuses a command, and what an operator can do about it. */
export interface RedisRefusal {
  /** First word of the answer, such as `NOREPLICAS`. The rest is left out, because it may name users and keys. */
  word: string;
  /** What an operator can do. */
  remedy: string;
}

/** Returns the refusal that the message of an error reports; undefined for the message of any other error. */
export function redisRefusalOf(message: string): RedisRefusal | undefined {
  const [word = ''] = message.split(' ', 1);
  const remedy = REMEDIES.get(word);
  return remedy === undefined ? undefined : { word, remedy };
}
