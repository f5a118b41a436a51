import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventToJson, type LoggedEvent, RedisEventLog } from '#events';
import {
  MIN_ABSENCE_UNTIL_DELETED_MS,
  ContactListPoller,
  ContactPoller,
  type FeedSettings,
  type FeedSource,
  type RecordedMessages,
  RecipientMessageReader,
  RedisVolatileFieldStore,
} from '#feed';
import {
  accountKeys,
  closeRedis,
  createLogger,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import { FileBlobStore } from '#blobs';
import { FileRemovingRelayStore, MessageBinder, RedisIdempotencyKeys, type RedisRelayStore } from '#relay';
import { HttpUpstream, type UpstreamAddress } from '#upstream';
import { createSimulator, type Simulator } from '../../../apps/simulator/src/create-simulator.js';
import type { Settings } from '../../../apps/simulator/src/settings.js';
import { eventually } from '../../support/eventually.js';
import { ShiftedClockStore } from './shifted-clock.js';

export const ACCOUNT = 'default';
/** Lets the sends of an account go to any upstream service. */
export const ANY_SERVICE = (): Promise<undefined> => Promise.resolve(undefined);
/** Timeout of one exchange with upstream, in milliseconds. */
export const UPSTREAM_TIMEOUT_MS = 1_000;

/** Test harness of the feed: the feed and its dependencies on a key prefix of their own, with a simulator of their own. */
export class FeedHarness {
  readonly log: RedisEventLog;
  readonly store: ShiftedClockStore;
  readonly sends: RedisRelayStore;
  readonly idempotencyKeys: RedisIdempotencyKeys;
  readonly blobs: FileBlobStore;
  readonly upstream: HttpUpstream;
  readonly source: FeedSource;
  readonly list: ContactListPoller;
  readonly polls: ContactPoller;
  readonly lookup: RecipientMessageReader;
  /** Reads the last forms of messages from the event log, as the worker does. */
  private readonly recordedMessages: RecordedMessages = {
    lastRecordedForm: async (account, subject, revision) => {
      const event = await this.log.findRevision(account, subject, revision);
      return event === undefined
        ? undefined
        : (JSON.parse(event.data) as { message?: Record<string, unknown> }).message;
    },
  };
  readonly volatile: RedisVolatileFieldStore;
  readonly logger = createLogger('test', 'silent');

  private constructor(
    readonly redis: RedisClient,
    readonly simulator: Simulator,
    readonly address: UpstreamAddress,
    readonly directory: string,
    timeoutMs: number,
    maxReplyBytes: number | undefined,
    readonly prefix = newId('req'),
  ) {
    this.upstream = new HttpUpstream(timeoutMs, maxReplyBytes);
    this.log = new RedisEventLog(redis, prefix);
    this.store = new ShiftedClockStore(redis, prefix);
    this.blobs = new FileBlobStore(directory);
    this.sends = new FileRemovingRelayStore(redis, prefix, clockOfThisMachine, this.blobs, this.logger);
    this.idempotencyKeys = new RedisIdempotencyKeys(redis, prefix);
    this.source = {
      listContacts: (_, __, newReader) => this.upstream.listContacts(address, newReader),
      listMessages: (_, contactId, page, limit, __, knownDigest) =>
        this.upstream.listMessages(address, contactId, page, limit, knownDigest),
    };
    this.volatile = new RedisVolatileFieldStore(redis, prefix);
    this.list = new ContactListPoller(this.store, this.source, MIN_ABSENCE_UNTIL_DELETED_MS, undefined, {
      store: this.volatile,
      logger: this.logger,
    });
    this.polls = this.poller();
    this.lookup = new RecipientMessageReader(this.store, this.list, this.polls, this.logger);
  }

  static async open(
    url: string,
    settings: Partial<Settings> = {},
    timeoutMs = UPSTREAM_TIMEOUT_MS,
    maxReplyBytes?: number,
  ): Promise<FeedHarness> {
    const redis = openRedis(parseRedisAddress(url), 'patient', () => undefined);
    await once(redis, 'ready');
    const simulator = await createSimulator({
      settings: { sendVisibleDelayMs: 0, deliveredProbability: 0, hangCapMs: 2_000, ...settings },
    });
    const { baseUrl } = await simulator.listen();
    const directory = await mkdtemp(join(tmpdir(), 'tidings-feed-'));
    const address = { baseUrl, apiKey: 'simulator-key' };
    return new FeedHarness(redis, simulator, address, directory, timeoutMs, maxReplyBytes);
  }

  /** Returns another poller of the same contacts. */
  poller(
    source: FeedSource = this.source,
    undated: 'silent' | 'emit' = 'silent',
    more: Partial<FeedSettings> = {},
    logger = this.logger,
  ): ContactPoller {
    return new ContactPoller(
      this.store,
      source,
      new MessageBinder(this.sends, this.logger),
      this.recordedMessages,
      {
        interval: { min: 50, max: 60_000 },
        undated,
        readsPerSecond: () => Promise.resolve(100),
        settleMs: 72 * 3_600_000,
        sweepMs: 86_400_000,
        absenceMs: MIN_ABSENCE_UNTIL_DELETED_MS,
        ...more,
      },
      logger,
      this.volatile,
    );
  }

  /** Reads the contact list, then polls every contact on the list once. */
  async sweep(): Promise<void> {
    await this.list.poll(ACCOUNT);
    const { contacts } = await this.store.contactListSnapshot(ACCOUNT);
    for (const [id, { deleted, missingSince }] of contacts) {
      if (!deleted && missingSince === undefined) await this.polls.poll(ACCOUNT, id);
    }
  }

  /**
   * Returns the contacts with a due read of the newest messages, longest overdue first, and puts all of them off by
   * `ms` milliseconds.
   */
  async takeDue(count = 1_000, ms = 60_000): Promise<string[]> {
    const key = accountKeys(this.prefix, ACCOUNT)('polls', 'due');
    const [seconds, microseconds] = await this.redis.time();
    const now = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    const ids = await this.redis.zrangebyscore(key, '-inf', now, 'LIMIT', 0, count);
    if (ids.length > 0) await this.redis.zadd(key, ...ids.flatMap((id) => [now + ms, id]));
    return ids;
  }

  async events(): Promise<LoggedEvent[]> {
    return (await this.log.read(ACCOUNT, undefined, 100_000)).events;
  }

  async eventTypes(): Promise<string[]> {
    return (await this.events()).map(({ type }) => type);
  }

  /** Returns the events as subscribers receive them. */
  async deliveredEvents(): Promise<
    { type: string; contactId: string; sequence: number; data: Record<string, unknown> }[]
  > {
    return (await this.events()).map((event) => JSON.parse(eventToJson(event)) as never);
  }

  control(verb: string, body?: unknown): Record<string, unknown> {
    return this.simulator.control(verb, body) as Record<string, unknown>;
  }

  /** Creates a contact in the simulator. Returns the contact's id. */
  createContact(phoneNumber: string, fields: Record<string, unknown> = {}): string {
    const { contacts } = this.control('contacts', { phoneNumber, ...fields }) as {
      contacts: { id: string }[];
    };
    return contacts[0]?.id ?? '';
  }

  /** Creates `count` messages of a contact in the simulator. Returns the messages' ids. */
  createMessages(contactId: string, fields: Record<string, unknown> = {}): string[] {
    return (this.control('messages', { contactId, ...fields }) as { ids: string[] }).ids;
  }

  /** Returns the most likely owner of a phone number. */
  async ownerOf(phoneNumber: string): Promise<string | undefined> {
    return (await this.store.recipientOf(ACCOUNT, phoneNumber)).contacts[0]?.id;
  }

  countRequests(path: RegExp): number {
    const { entries } = this.simulator.ledger.read({ kinds: ['request'] });
    return entries.filter((entry) => entry.kind === 'request' && path.test(`${entry.method} ${entry.path}`))
      .length;
  }

  /** Sweeps repeatedly until `look` returns true. */
  async sweepUntil(what: string, isReached: () => Promise<boolean>): Promise<void> {
    await eventually(what, async () => {
      await this.sweep();
      return isReached();
    });
  }

  async close(): Promise<void> {
    this.upstream.close();
    await this.simulator.close();
    await closeRedis(this.redis);
    await rm(this.directory, { recursive: true, force: true });
  }
}
