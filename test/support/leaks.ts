import { Cluster, type Redis } from 'ioredis';
import { closeRedis, openRedis, parseRedisAddress, withDeadline } from '#platform';

/** Minimum length of a checked value: shorter values are part of ordinary words. */
const MIN_LENGTH = 8;
/** Limits, so that the check stays fast after a trial of thousands of sends. */
const MAX_TEXTS = 60;
const MAX_KEYS = 20_000;
const REDIS_TIMEOUT_MS = 2_000;

/** Redis keys that must contain message texts: sends, events, and deliveries of events. */
const KEY_WITH_TEXTS = /\}:(?:send:snd_\w+|events|deliver(?:y|ies):[^:]+|conversations(?::sends)?)$/;

/** Values that must not appear in a log, nor unencrypted in Redis. */
export class Canaries {
  private readonly secrets = new Map<string, string>();
  private readonly texts = new Set<string>();

  /**
   * Adds a key or secret, which must appear nowhere. @param what name of the secret for the report, which never prints
   * the secret itself
   */
  addSecret(what: string, value: unknown): void {
    if (typeof value === 'string' && value.length >= MIN_LENGTH) this.secrets.set(value, what);
  }

  /** Adds a message text, which must appear in no log, and in Redis only in keys that match {@link KEY_WITH_TEXTS}. */
  addText(value: unknown): void {
    if (typeof value === 'string' && value.length >= MIN_LENGTH && this.texts.size < MAX_TEXTS)
      this.texts.add(value);
  }

  /** Adds the secrets and message texts of a request to the gateway and of its reply. */
  addExchange(path: string, body: unknown, reply: unknown): void {
    const { message, apiKey, headers } = fieldsOf(body);
    if (path === '/v1/messages/send') this.addText(message);
    this.addSecret('the upstream key of an account', apiKey);
    for (const value of Object.values(fieldsOf(headers))) this.addSecret('a header of a webhook', value);
    const { secret, key, token } = fieldsOf(reply);
    this.addSecret('the secret of a webhook', secret);
    this.addSecret('an API key', key);
    this.addSecret('a token', token);
  }

  /** Describes each leak in a log. */
  leaksInLog(name: string, log: string): string[] {
    return [
      ...[...this.secrets].flatMap(([value, what]) =>
        isContained(value, log) ? [`${what} is in the log of ${name}: ${lineWith(value, log)}`] : [],
      ),
      ...[...this.texts].flatMap((text) =>
        isContained(text, log) ? [`a message text is in the log of ${name}: ${lineWith(text, log)}`] : [],
      ),
    ];
  }

  /** Describes each leak in a Redis value. */
  leaksInValue(key: string, value: string): string[] {
    const secrets = [...this.secrets].flatMap(([secret, what]) =>
      isContained(secret, value) || isContained(secret, key) ? [`${what} is in Redis at ${key}`] : [],
    );
    if (KEY_WITH_TEXTS.test(key)) return secrets;
    const texts = [...this.texts].filter((text) => isContained(text, value) || isContained(text, key));
    return [...secrets, ...texts.map((text) => `the message text ${text} is in Redis at ${key}`)];
  }

  /** Describes each leak in all values of a Redis server. A server that does not respond is skipped. */
  async leaksInRedis(url: string): Promise<string[]> {
    const redis = openRedis(parseRedisAddress(url), 'patient', () => undefined);
    try {
      try {
        await withDeadline(redis.ping(), REDIS_TIMEOUT_MS, 'PING');
      } catch {
        return [];
      }
      const leaks: string[] = [];
      for (const node of redis instanceof Cluster ? redis.nodes('master') : [redis]) {
        for await (const [key, value] of valuesOf(node)) leaks.push(...this.leaksInValue(key, value));
      }
      return leaks;
    } finally {
      await closeRedis(redis);
    }
  }
}

async function* valuesOf(redis: Redis): AsyncGenerator<[key: string, value: string]> {
  let seen = 0;
  for (let cursor = '0', begun = false; (!begun || cursor !== '0') && seen < MAX_KEYS; begun = true) {
    const [next, keys] = await redis.scan(cursor, 'COUNT', 500);
    cursor = next;
    seen += keys.length;
    const values = await Promise.all(keys.map(async (key) => valueOf(redis, key)));
    for (const [i, key] of keys.entries()) yield [key, values[i] ?? ''];
  }
}

/** A whole value as text, in an encoding that keeps every byte of binary values. */
async function valueOf(redis: Redis, key: string): Promise<string> {
  switch (await redis.type(key)) {
    case 'string':
      return textOf(await redis.getBuffer(key));
    case 'hash':
      return textOf(await redis.hgetallBuffer(key));
    case 'list':
      return textOf(await redis.lrangeBuffer(key, 0, -1));
    case 'set':
      return textOf(await redis.smembersBuffer(key));
    case 'zset':
      return textOf(await redis.zrangeBuffer(key, '0', '-1'));
    case 'stream':
      return textOf(await redis.xrangeBuffer(key, '-', '+'));
    default:
      return '';
  }
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString();
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([field, inside]) => `${field}\n${textOf(inside)}`)
      .join('\n');
  }
  return '';
}

/** True for the plain text, for its form in JSON, and for its form in JSON within JSON. */
function isContained(needle: string, haystack: string): boolean {
  const once = JSON.stringify(needle).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  return [...new Set([needle, once, twice])].some((form) => haystack.includes(form));
}

function lineWith(needle: string, log: string): string {
  const line = log.split('\n').find((some) => isContained(needle, some)) ?? '';
  return line.replaceAll(needle, '‹here›').slice(0, 500);
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
