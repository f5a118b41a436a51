import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Logger } from '#platform';
import {
  LaneRunner,
  type NewSend,
  type RelayJobs,
  PeriodicRelayTasks,
  type RelaySettings,
  type RelayStore,
  type Send,
  type Sender,
  type StoredFile,
  StoreBackedSendService,
} from '#relay';
import { eventually } from '../../support/eventually.js';
import { RedisBackup } from '../../support/redis-backup.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, ANY_SERVICE, FeedHarness, UPSTREAM_TIMEOUT_MS } from '../feed/feed-harness.js';

/** The recipient of the sends, whose lane the tests run. */
export const NUMBER = '+15551234567';

const SETTINGS: RelaySettings = {
  retryScheduleSeconds: [0.02],
  safeStatuses: [429],
  maxAgeMs: 60_000,
  confirmMs: 800,
  confirmMediaMs: 800,
  onUnknown: 'hold',
  postTimeoutMs: UPSTREAM_TIMEOUT_MS,
};

/** Drops every hint. Tests find what is due in the store. */
export const NO_HINTS: RelayJobs = { wake: () => Promise.resolve() };

/** What a runner does differently from the other runners of the file. */
export interface Overrides extends Partial<RelaySettings> {
  post?: Sender['post'];
  addressOf?: () => Promise<string | undefined>;
  store?: RelayStore;
  jobs?: RelayJobs;
  logger?: Logger;
}

/** A fresh test harness for each test of a file, with helpers to accept, relay and inspect sends. */
export class WithLane {
  readonly settings: RelaySettings;
  private server: TestRedis | undefined;
  private opened: { harness: FeedHarness; intake: StoreBackedSendService } | undefined;

  /** @param upstreamTimeoutMs timeout of one exchange with upstream, in milliseconds */
  constructor(settings: Partial<RelaySettings> = {}, upstreamTimeoutMs = UPSTREAM_TIMEOUT_MS) {
    this.settings = { ...SETTINGS, ...settings };
    beforeAll(async () => {
      this.server = await startTestRedis();
    });
    afterAll(async () => {
      await this.server?.dispose();
    });
    beforeEach(async () => {
      const harness = await FeedHarness.open(this.redis.url, {}, upstreamTimeoutMs);
      this.opened = {
        harness,
        intake: new StoreBackedSendService(harness.sends, harness.idempotencyKeys, NO_HINTS, ANY_SERVICE),
      };
    });
    afterEach(async () => {
      await this.opened?.harness.close();
    });
  }

  get redis(): TestRedis {
    if (this.server === undefined) throw new Error('Redis is only available within a test.');
    return this.server;
  }

  get harness(): FeedHarness {
    if (this.opened === undefined) throw new Error('The harness is only available within a test.');
    return this.opened.harness;
  }

  get intake(): StoreBackedSendService {
    if (this.opened === undefined) throw new Error('The intake is only available within a test.');
    return this.opened.intake;
  }

  /** Posts to the simulator, without a budget. */
  readonly post: Sender['post'] = (_, send, limit) =>
    this.harness.upstream.send(this.harness.address, send, limit);

  /** Returns a new runner, as in a process of its own. */
  readonly runner = ({
    post = this.post,
    addressOf = ANY_SERVICE,
    store = this.harness.sends,
    jobs = NO_HINTS,
    logger = this.harness.logger,
    ...settings
  }: Overrides = {}): LaneRunner => {
    const sender = {
      accountOf: async () => ({ address: await addressOf(), requestsPerSecond: 1_000_000 }),
      takeBudgetToken: () => Promise.resolve(() => Promise.resolve()),
      isHeld: () => Promise.resolve(false),
      post,
    };
    const { lookup, blobs } = this.harness;
    return new LaneRunner(store, sender, lookup, blobs, jobs, this.with(settings), logger, () => 0);
  };

  /** Returns the periodic rounds of the relay, as in a process of their own. */
  readonly rounds = ({
    jobs = NO_HINTS,
    store = this.harness.sends,
    ...settings
  }: Partial<RelaySettings> & Pick<Overrides, 'jobs' | 'store'> = {}): PeriodicRelayTasks => {
    const { lookup, blobs } = this.harness;
    return new PeriodicRelayTasks(store, lookup, blobs, jobs, this.with(settings));
  };

  /** Returns the store with some operations replaced. */
  readonly storeWith = (replaced: Partial<RelayStore>): RelayStore =>
    Object.assign(Object.create(this.harness.sends) as RelayStore, replaced);

  /** Accepts a send to the recipient: a text, unless a file is given. Returns the send's id. */
  readonly accept = async (send: Partial<NewSend> = {}): Promise<string> => {
    const text = send.file === undefined ? { message: 'Hi' } : {};
    return (await this.intake.accept(ACCOUNT, { phoneNumber: NUMBER, type: 'text', ...text, ...send })).id;
  };

  readonly find = async (id: string): Promise<Send> => {
    const send = await this.intake.find(ACCOUNT, id);
    if (send === undefined) throw new Error(`${id} was not found`);
    return send;
  };

  /** Runs the lane until the send has this status. */
  readonly relayUntil = async (id: string, status: Send['status'], by = this.runner()): Promise<Send> => {
    await eventually(`the send is ${status}`, async () => {
      await by.run(ACCOUNT, NUMBER);
      return (await this.find(id)).status === status;
    });
    return this.find(id);
  };

  /** Makes the next POSTs fail at upstream. */
  readonly failPosts = (fault: unknown, times: number | 'always' = 1): object =>
    this.harness.control('faults', { match: { method: 'POST' }, fault, times });

  /** Takes a snapshot of Redis. A test can later lose every write after the snapshot. */
  readonly memory = (): Promise<RedisBackup> => RedisBackup.create(this.harness.redis, this.harness.prefix);

  /** Returns the texts that upstream accepted, in order. */
  readonly texts = (): (string | null)[] =>
    this.harness.simulator.ledger
      .read({ kinds: ['send.accepted'] })
      .entries.map((entry) => (entry.kind === 'send.accepted' ? entry.message : null));

  /** Returns the number of POSTs that reached upstream. */
  readonly posts = (): number => this.harness.countRequests(/^POST /);

  readonly sendEvents = async (): Promise<string[]> =>
    (await this.harness.eventTypes()).filter((type) => type.startsWith('send.'));

  readonly upload = async (content = 'picture'): Promise<StoredFile> => {
    const blob = await this.harness.blobs.put(ACCOUNT, Readable.from([Buffer.from(content)]), 1_000_000);
    return { blobId: blob.id, name: 'a.png', contentType: 'image/png', size: blob.size, sha256: blob.sha256 };
  };

  private with(settings: Partial<RelaySettings>): RelaySettings {
    return { ...this.settings, ...settings };
  }
}
