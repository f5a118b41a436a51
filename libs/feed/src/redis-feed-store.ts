import { eventArguments, logKeys } from '#events';
import { accountKeys, type AccountKeys, type RedisClient } from '#platform';
import type { ContactState, ContactUpdate, FeedStore, KnownContacts, PollCommit } from './feed-store.js';
import { packKnownMessage, unpackKnownMessage } from './known-message-codec.js';
import type { KnownMessage } from './known-message.js';
import type { PageOrder } from './page-order.js';
import {
  claimDue,
  commitContacts,
  commitPoll,
  hasten,
  postpone,
  takeListWish,
} from './redis-feed-scripts.js';

/** How many contacts one script changes: a script holds up everybody else. */
const CONTACTS_A_COMMIT = 200;

/** {@link FeedStore} on Redis. */
export class RedisFeedStore implements FeedStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async knownContacts(account: string): Promise<KnownContacts> {
    const keys = this.keys(account);
    const [version, listedAt] = await this.redis.hmget(keys('contact-list'), 'version', 'listedAt');
    const contacts = await this.redis.hgetall(keys('contacts'));
    return {
      version: Number(version ?? 0),
      ...(listedAt == null ? {} : { listedAt: Number(listedAt) }),
      contacts: new Map(Object.entries(contacts)),
    };
  }

  async contactRecord(
    account: string,
    contactId: string,
  ): Promise<{ raw: string; revision: number } | undefined> {
    const [raw, revision] = await this.redis.hmget(
      this.keys(account)('contact', contactId),
      'raw',
      'revision',
    );
    return raw == null ? undefined : { raw, revision: Number(revision) };
  }

  async commitContacts(
    account: string,
    version: number,
    listedAt: number,
    updates: readonly ContactUpdate[],
  ): Promise<boolean> {
    const keys = this.keys(account);
    const shared = [
      ...logKeys(keys),
      keys('contacts'),
      keys('contact-list'),
      keys('polls', 'due'),
      keys('numbers'),
    ];
    let expected = version;
    let rest = updates;
    do {
      const part = rest.slice(0, CONTACTS_A_COMMIT);
      rest = rest.slice(CONTACTS_A_COMMIT);
      const done = await commitContacts.run(
        this.redis,
        [...shared, ...part.map(({ id }) => keys('contact', id))],
        [
          expected,
          // Only with its last part the list is read: a crash before it must not turn the rest into later contacts.
          rest.length === 0 ? Math.round(listedAt) : '',
          part.length,
          ...part.flatMap(({ id, raw, fingerprint, tellAfter, event, numbers }) => [
            id,
            raw,
            fingerprint,
            tellAfter === undefined ? '' : Math.round(tellAfter),
            event?.revision ?? 0,
            numbers.length,
            ...numbers,
          ]),
          ...eventArguments(
            account,
            part.flatMap(({ event }) => event ?? []),
          ),
        ],
      );
      if (done !== 1) return false;
      expected += 1;
    } while (rest.length > 0);
    return true;
  }

  async contactState(account: string, contactId: string): Promise<ContactState | undefined> {
    const keys = this.keys(account);
    const [version, order, tellAfter, weight, weightAt, share, hastened] = await this.redis.hmget(
      keys('contact', contactId),
      'version',
      'order',
      'tellAfter',
      'weight',
      'weightAt',
      'share',
      'hastened',
    );
    if (version == null) return undefined;
    const shares = await this.redis.hget(keys('contact-list'), 'shares');
    return {
      version: Number(version),
      order: (order ?? 'unknown') as PageOrder,
      ...(tellAfter == null ? {} : { tellAfter: Number(tellAfter) }),
      ...(weight == null ? {} : { activity: { weight: Number(weight), at: Number(weightAt) } }),
      share: Number(share ?? 0),
      shares: Number(shares ?? 0),
      hastened: Number(hastened ?? 0),
    };
  }

  async knownMessages(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<Map<string, KnownMessage>> {
    if (ids.length === 0) return new Map();
    const packed = await this.redis.hmgetBuffer(this.messagesKey(account, contactId), ...ids);
    return new Map(
      ids.flatMap((id, i): [string, KnownMessage][] => {
        const bytes = packed[i];
        return bytes == null ? [] : [[id, unpackKnownMessage(bytes)]];
      }),
    );
  }

  async commitPoll(account: string, contactId: string, commit: PollCommit): Promise<boolean> {
    const keys = this.keys(account);
    const { version, hastened, known, events, order, activity, share, dueInMs, numbers } = commit;
    const done = await commitPoll.run(
      this.redis,
      [
        ...logKeys(keys),
        keys('contact', contactId),
        this.messagesKey(account, contactId),
        keys('polls', 'due'),
        keys('contact-list'),
        keys('numbers'),
      ],
      [
        contactId,
        version,
        order,
        activity.weight,
        activity.at,
        share,
        Math.round(dueInMs),
        hastened,
        known.size,
        ...[...known].flatMap(([id, message]) => [id, packKnownMessage(message)]),
        numbers.length,
        ...numbers,
        ...eventArguments(account, events),
      ],
    );
    return done === 1;
  }

  async claimDue(account: string, count: number, leaseMs: number): Promise<string[]> {
    return (await claimDue.run(this.redis, [this.dueKey(account)], [count, leaseMs])) as string[];
  }

  async hasten(account: string, contactId: string, ms: number): Promise<void> {
    await hasten.run(
      this.redis,
      [this.dueKey(account), this.keys(account)('contact', contactId)],
      [contactId, ms],
    );
  }

  async postpone(account: string, contactId: string, ms: number): Promise<void> {
    await postpone.run(this.redis, [this.dueKey(account)], [contactId, ms]);
  }

  async wishForList(account: string): Promise<void> {
    await this.redis.hset(this.keys(account)('contact-list'), 'wished', 1);
  }

  async takeListWish(account: string): Promise<boolean> {
    return Number(await takeListWish.run(this.redis, [this.keys(account)('contact-list')], [])) === 1;
  }

  async contactOf(account: string, phoneNumber: string): Promise<string | undefined> {
    return (await this.redis.hget(this.keys(account)('numbers'), phoneNumber)) ?? undefined;
  }

  private messagesKey(account: string, contactId: string): string {
    return this.keys(account)('contact', contactId, 'messages');
  }

  private dueKey(account: string): string {
    return this.keys(account)('polls', 'due');
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}
