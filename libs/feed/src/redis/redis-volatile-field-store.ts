import { accountKeys, LuaScript, type RedisClient } from '#platform';
import {
  type VolatileContactFields,
  parseVolatileContactFields,
  serializeVolatileContactFields,
} from '../form/volatile-contact-fields.js';
import { FINGERPRINT_FIELDS } from '../form/fingerprint.js';
import type { VolatileField, VolatileFieldStore } from '../form/volatile-fields.js';

/**
 * Fields of the Redis hash:
 *
 * - `learned`: which contact fields are or may become volatile.
 * - `contacts`: number of contacts in the contact list.
 * - `m:` and the name of a message field: number of contacts in whose messages this field is muted.
 */
const LEARNED = 'learned';
const CONTACTS = 'contacts';
const OF_MESSAGES = 'm:';

const MAX_SHOWN = 20;

const countVolatileFieldsScript = LuaScript.from(import.meta.url, 'lua/count-volatile-fields.lua');

/** Implements {@link VolatileFieldStore} with one small Redis hash per account. */
export class RedisVolatileFieldStore implements VolatileFieldStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async contactVolatility(account: string): Promise<VolatileContactFields> {
    return parseVolatileContactFields(await this.redis.hget(this.key(account), LEARNED));
  }

  async storeContactVolatility(
    account: string,
    volatility: VolatileContactFields,
    contacts: number,
  ): Promise<void> {
    const key = this.key(account);
    if (volatility.fields.size === 0 && volatility.settled.length === 0) {
      await this.redis.hdel(key, LEARNED, CONTACTS);
    } else {
      await this.redis.hset(key, LEARNED, serializeVolatileContactFields(volatility), CONTACTS, contacts);
    }
  }

  async countMessageFields(
    account: string,
    { muted, unmuted }: { muted: readonly string[]; unmuted: readonly string[] },
  ): Promise<void> {
    if (muted.length + unmuted.length === 0) return;
    const changes = [
      ...muted.flatMap((field) => [`${OF_MESSAGES}${field}`, 1]),
      ...unmuted.flatMap((field) => [`${OF_MESSAGES}${field}`, -1]),
    ];
    await countVolatileFieldsScript.run(this.redis, { volatile: this.key(account) }, { changes });
  }

  async volatileFields(account: string): Promise<VolatileField[]> {
    const stored = await this.redis.hgetall(this.key(account));
    const contacts = Number(stored[CONTACTS] ?? 0);
    const ofContacts = [...parseVolatileContactFields(stored[LEARNED]).fields]
      .filter(([, { muted }]) => muted)
      .map(([field]): VolatileField => ({ of: 'contact', field, contacts }));
    const ofMessages = FINGERPRINT_FIELDS.map((field): VolatileField => ({
      of: 'message',
      field,
      contacts: Number(stored[`${OF_MESSAGES}${field}`] ?? 0),
    })).filter(({ contacts: number }) => number > 0);
    return [...ofContacts, ...ofMessages].sort((a, b) => b.contacts - a.contacts).slice(0, MAX_SHOWN);
  }

  private key(account: string): string {
    return accountKeys(this.prefix, account)('volatile');
  }
}
