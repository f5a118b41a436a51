import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { ABSENCE_MS, type FeedSource } from '#feed';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { A, House } from './house.js';

/** No test of these waits for it: long enough for a busy machine. */
const UPSTREAM_TIMEOUT_MS = 5_000;

export const DAY_MS = 86_400_000;
export const NUMBER = '+15551234567';

/** What the events of messages come to: `type id` each, sorted, as often as they were told. */
export const received = (ids: readonly string[]): string[] =>
  ids.map((id) => `message.received ${id}`).sort();

/** A house for each test of a file. */
export class WithHouse {
  private server: TestRedis | undefined;
  private opened: House | undefined;

  constructor() {
    beforeAll(async () => {
      this.server = await startTestRedis();
    });
    afterAll(async () => {
      await this.server?.dispose();
    });
    beforeEach(async () => {
      this.opened = await House.open(this.server?.url ?? '', {}, UPSTREAM_TIMEOUT_MS);
    });
    afterEach(async () => {
      await this.opened?.close();
    });
  }

  get redis(): TestRedis {
    if (this.server === undefined) throw new Error('There is a Redis only within a test.');
    return this.server;
  }

  get house(): House {
    if (this.opened === undefined) throw new Error('There is a house only within a test.');
    return this.opened;
  }

  /** The events of messages, as {@link received} has them. */
  async told(): Promise<string[]> {
    const events = (await this.house.told()).filter(({ type }) => type.startsWith('message.'));
    return events
      .map(({ type, data }) => `${type} ${String((data['message'] as { id: unknown }).id)}`)
      .sort();
  }

  /** A contact with messages of three days ago, read until how it is read does not change any more. */
  async learned(count: number): Promise<{ contactId: string; ids: string[] }> {
    const contactId = this.house.contact(NUMBER);
    const ids = this.old(contactId, count);
    for (let reads = 0; reads < 3; reads += 1) await this.house.sweep();
    return { contactId, ids };
  }

  /** Messages of three days ago, each a second after the one before. */
  old(contactId: string, count: number): string[] {
    const timestamp = Date.now() - 3 * DAY_MS;
    return this.house.messages(contactId, { count, timestamp, intervalMs: 1_000 });
  }

  /** Does something once, when this page was read. */
  afterPage(wanted: number, act: () => unknown): FeedSource {
    let done = false;
    const { source } = this.house;
    return {
      ...source,
      listMessages: async (account, contactId, page, limit, purpose) => {
        const read = await source.listMessages(account, contactId, page, limit, purpose);
        if (page === wanted && !done) {
          done = true;
          await act();
        }
        return read;
      },
    };
  }

  /** Reads everything of a contact. */
  async readAll(contactId: string): Promise<void> {
    await this.house.poller(this.house.source, 'silent', { sweepMs: 0 }).poll(A, contactId);
  }

  /** Reads everything again and again, a little more than a minute after the time before. */
  async readMinutes(contactId: string, reads: number): Promise<void> {
    for (let read = 0; read < reads; read += 1) {
      this.house.store.aheadMs += ABSENCE_MS + 2_000;
      await this.readAll(contactId);
    }
  }
}
