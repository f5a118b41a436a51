import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { MIN_ABSENCE_UNTIL_DELETED_MS, type FeedSource } from '#feed';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, FeedHarness } from './feed-harness.js';

/** Timeout of an exchange with upstream, in milliseconds. Long enough for a busy machine: no test waits for it. */
const UPSTREAM_TIMEOUT_MS = 5_000;

export const DAY_MS = 86_400_000;
export const NUMBER = '+15551234567';

/** Returns the expected result of {@link WithFeedHarness.messageEvents}: `message.received <id>` for each id, sorted. */
export const received = (ids: readonly string[]): string[] =>
  ids.map((id) => `message.received ${id}`).sort();

/** Opens a test harness before each test of a file and closes it afterwards. */
export class WithFeedHarness {
  private server: TestRedis | undefined;
  private opened: FeedHarness | undefined;

  /** @param maxReplyBytes maximum size of a page of messages, in bytes; by default that of the product */
  constructor(maxReplyBytes?: number) {
    beforeAll(async () => {
      this.server = await startTestRedis();
    });
    afterAll(async () => {
      await this.server?.dispose();
    });
    beforeEach(async () => {
      this.opened = await FeedHarness.open(this.server?.url ?? '', {}, UPSTREAM_TIMEOUT_MS, maxReplyBytes);
    });
    afterEach(async () => {
      await this.opened?.close();
    });
  }

  get redis(): TestRedis {
    if (this.server === undefined) throw new Error('Redis is available only during a test.');
    return this.server;
  }

  get harness(): FeedHarness {
    if (this.opened === undefined) throw new Error('The test harness is available only during a test.');
    return this.opened;
  }

  /** Returns the message events as sorted lines `type id`. */
  async messageEvents(): Promise<string[]> {
    const events = (await this.harness.deliveredEvents()).filter(({ type }) => type.startsWith('message.'));
    return events
      .map(({ type, data }) => `${type} ${String((data['message'] as { id: unknown }).id)}`)
      .sort();
  }

  /** Creates a contact with messages of three days ago and reads it until its poll state is stable. */
  async createKnownContact(count: number): Promise<{ contactId: string; ids: string[] }> {
    const contactId = this.harness.createContact(NUMBER);
    const ids = count === 0 ? [] : this.createOldMessages(contactId, count);
    for (let reads = 0; reads < 3; reads += 1) await this.harness.sweep();
    return { contactId, ids };
  }

  /** Creates messages of three days ago, each a second after the previous one. */
  createOldMessages(contactId: string, count: number): string[] {
    const timestamp = Date.now() - 3 * DAY_MS;
    return this.harness.createMessages(contactId, { count, timestamp, intervalMs: 1_000 });
  }

  /** Returns a source that calls `act` once, right after page `wanted` was read. */
  afterPage(wanted: number, act: () => unknown): FeedSource {
    let done = false;
    const { source } = this.harness;
    return {
      ...source,
      listMessages: async (account, contactId, page, limit, ...rest) => {
        const read = await source.listMessages(account, contactId, page, limit, ...rest);
        if (page === wanted && !done) {
          done = true;
          await act();
        }
        return read;
      },
    };
  }

  /** Reads all pages of a contact. */
  async readAll(contactId: string): Promise<void> {
    await this.harness.poller(this.harness.source, 'silent', { sweepMs: 0 }).poll(ACCOUNT, contactId);
  }

  /** Reads all pages of a contact `reads` times, with more than a minute between two reads. */
  async readAllMinutesApart(contactId: string, reads: number): Promise<void> {
    for (let read = 0; read < reads; read += 1) {
      this.harness.store.aheadMs += MIN_ABSENCE_UNTIL_DELETED_MS + 2_000;
      await this.readAll(contactId);
    }
  }
}
