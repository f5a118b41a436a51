import { Cluster, type Redis } from 'ioredis';
import { closeRedis, openRedis, parseRedisAddress, withDeadline } from '#platform';

/** Shorter ones stand in many an innocent word. */
const SHORTEST = 8;
/** A trial of thousands of sends is judged by some of them. */
const MOST_TEXTS = 60;
const MOST_KEYS = 20_000;
const REDIS_ANSWERS_WITHIN_MS = 2_000;

/** Where texts must be kept, for they are what is stored: sends, events, and the deliveries of events. */
const KEEPS_TEXTS = /\}:(?:send:snd_\w+|events|deliver(?:y|ies):[^:]+)$/;

/** What must not stand in a log, nor in Redis in clear. */
export class Canaries {
  private readonly secrets = new Map<string, string>();
  private readonly texts = new Set<string>();

  /** Keys and secrets: nowhere. @param what it is, for the report: the secret itself is not printed */
  secret(what: string, value: unknown): void {
    if (typeof value === 'string' && value.length >= SHORTEST) this.secrets.set(value, what);
  }

  /** Texts of messages: in no log, and in Redis only where {@link KEEPS_TEXTS} says. */
  text(value: unknown): void {
    if (typeof value === 'string' && value.length >= SHORTEST && this.texts.size < MOST_TEXTS)
      this.texts.add(value);
  }

  /** Notes what a request to the gateway and its reply hold of either. */
  exchange(path: string, body: unknown, reply: unknown): void {
    const { message, apiKey, headers } = fieldsOf(body);
    if (path === '/v1/messages/send') this.text(message);
    this.secret('the upstream key of an account', apiKey);
    for (const value of Object.values(fieldsOf(headers))) this.secret('a header of a webhook', value);
    const { secret, key } = fieldsOf(reply);
    this.secret('the secret of a webhook', secret);
    this.secret('an API key', key);
  }

  /** What of it stands in a log, in words. */
  inLog(name: string, log: string): string[] {
    return [
      ...[...this.secrets].flatMap(([value, what]) =>
        stands(value, log) ? [`${what} stands in the log of ${name}: ${lineWith(value, log)}`] : [],
      ),
      ...[...this.texts].flatMap((text) =>
        stands(text, log) ? [`a text stands in the log of ${name}: ${lineWith(text, log)}`] : [],
      ),
    ];
  }

  /** What of it stands in a value of Redis, in words. */
  inValue(key: string, value: string): string[] {
    const secrets = [...this.secrets].flatMap(([secret, what]) =>
      stands(secret, value) || stands(secret, key) ? [`${what} stands in Redis at ${key}`] : [],
    );
    if (KEEPS_TEXTS.test(key)) return secrets;
    const texts = [...this.texts].filter((text) => stands(text, value) || stands(text, key));
    return [...secrets, ...texts.map((text) => `the text ${text} stands in Redis at ${key}`)];
  }

  /** The same of everything that is kept there. One that does not answer has nothing to show. */
  async inRedis(url: string): Promise<string[]> {
    const redis = openRedis(parseRedisAddress(url), 'patient', () => undefined);
    try {
      try {
        await withDeadline(redis.ping(), REDIS_ANSWERS_WITHIN_MS, 'PING');
      } catch {
        return [];
      }
      const leaks: string[] = [];
      for (const node of redis instanceof Cluster ? redis.nodes('master') : [redis]) {
        for await (const [key, value] of valuesOf(node)) leaks.push(...this.inValue(key, value));
      }
      return leaks;
    } finally {
      await closeRedis(redis);
    }
  }
}

async function* valuesOf(redis: Redis): AsyncGenerator<[key: string, value: string]> {
  let seen = 0;
  for (let cursor = '0', begun = false; (!begun || cursor !== '0') && seen < MOST_KEYS; begun = true) {
    const [next, keys] = await redis.scan(cursor, 'COUNT', 500);
    cursor = next;
    seen += keys.length;
    const values = await Promise.all(keys.map(async (key) => valueOf(redis, key)));
    for (const [i, key] of keys.entries()) yield [key, values[i] ?? ''];
  }
}

/** All of a value as text; in the encoding that keeps every byte of what is packed. */
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

/** As it is, as it stands within JSON, and within JSON that is a text of JSON. */
function stands(needle: string, haystack: string): boolean {
  const once = JSON.stringify(needle).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  return [...new Set([needle, once, twice])].some((form) => haystack.includes(form));
}

function lineWith(needle: string, log: string): string {
  const line = log.split('\n').find((some) => stands(needle, some)) ?? '';
  return line.replaceAll(needle, '‹here›').slice(0, 500);
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
