import { setTimeout as pause } from 'node:timers/promises';
import { ChangeDriver } from '../support/change-driver.js';
import { eventually } from '../support/eventually.js';
import { type Fault, FeedOracle } from '../support/oracle/feed-oracle.js';
import type { EmittedEvent } from '../support/oracle/message-check.js';
import type { LedgerEntry } from '../support/oracle/truth.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';
import type { RedisLayout } from '../support/redis-process.js';

const CONTACTS = 200;
/** Number of additional contacts that only the test itself uses. */
const RECIPIENTS = 10;
/** Number of old messages per direction and contact. */
const OLD_MESSAGES = 6;
const CHANGES = 5_000;
const DRIVE_MS = 60_000;
const KILL_EVERY_MS = 5_000;
/**
 * Interval of the sweep, in milliseconds. The sweep reads messages that are not on a contact's first page.
 */
const SWEEP_MS = 20_000;
/**
 * Maximum time until the log is complete, in milliseconds. A deletion needs two reads a minute apart, the
 * first of them a sweep.
 */
const SETTLED_WITHIN_MS = 180_000;
const PAGE = 1_000;

const ENVIRONMENT = {
  LOG_LEVEL: 'warn',
  UPSTREAM_REQUESTS_PER_SECOND: '400',
  POLL_MIN_INTERVAL_MS: '200',
  CONTACTS_INTERVAL_MS: '500',
  POLL_SWEEP_INTERVAL_MS: String(SWEEP_MS),
};

/** A contact of the simulator. */
export interface TrialContact {
  id: string;
  phoneNumber: string;
}

/**
 * The whole product with two workers and 200 contacts, an oracle that checks the events, and a subscriber
 * that reads all events.
 */
export class FeedTrial<Layout extends RedisLayout> implements AsyncDisposable {
  readonly oracle = new FeedOracle();
  /** Events in the order in which the subscriber read them. */
  readonly read: EmittedEvent[] = [];
  second: ProductProcess | undefined;
  private ledgerAt = 0;
  private cursor: string | undefined;

  private constructor(
    readonly product: Product<Layout>,
    readonly contacts: readonly TrialContact[],
    private readonly driver: ChangeDriver,
  ) {}

  /** Starts a trial. Resolves when both workers run and every contact's old messages are known. */
  static async start<Layout extends RedisLayout>(
    redis: Layout,
    extra: Readonly<Record<string, string>> = {},
  ): Promise<FeedTrial<Layout>> {
    let contacts: TrialContact[] = [];
    const seed = Date.now() % 1_000_000;
    process.stdout.write(`seed ${seed}\n`);
    const adoptions: Parameters<ChangeDriver['adopt']>[] = [];
    const product = await Product.startOn(redis, { ...ENVIRONMENT, ...extra }, async (running) => {
      ({ contacts } = await running.simulate<{ contacts: TrialContact[] }>('contacts', {
        count: CONTACTS + RECIPIENTS,
      }));
      const timestamp = Date.now() - 2 * 3_600_000;
      for (const { id: contactId } of contacts) {
        for (const direction of ['inbound', 'outbound']) {
          const { ids } = await running.simulate<{ ids: string[] }>('messages', {
            ...{ contactId, direction, count: OLD_MESSAGES, text: 'Old {n}', timestamp, intervalMs: 60_000 },
          });
          adoptions.push([contactId, ids, { delivered: direction === 'inbound', read: false }]);
        }
      }
    });
    const driver = new ChangeDriver(
      (verb, body) => product.simulate(verb, body),
      contacts.slice(0, CONTACTS).map(({ id }) => id),
      { changes: CHANGES, durationMs: DRIVE_MS, seed },
    );
    const trial = new FeedTrial(product, contacts, driver);
    try {
      for (const adoption of adoptions) driver.adopt(...adoption);
      await trial.startSecondWorker();
      await trial.establishBaseline();
    } catch (error) {
      await trial[Symbol.asyncDispose]();
      throw error;
    }
    return trial;
  }

  /** Contacts that the change driver does not use. */
  get recipients(): readonly TrialContact[] {
    return this.contacts.slice(CONTACTS);
  }

  /**
   * Makes all changes. With `kills`, kills and restarts one of the workers every five seconds. Returns the
   * number of kills.
   */
  async drive(kills: boolean): Promise<number> {
    const stop = new AbortController();
    const killing = kills ? this.kill(stop.signal) : Promise.resolve(0);
    const reading = this.follow(stop.signal);
    try {
      await this.driver.run();
    } finally {
      stop.abort();
    }
    await reading;
    return await killing;
  }

  /** Returns the faults in the log. Ends early if no fault is found for a whole sweep interval. */
  async judge(): Promise<{ faults: Fault[]; events: EmittedEvent[] }> {
    const began = performance.now();
    let quietAt: number | undefined;
    for (;;) {
      const events = await this.wholeLog();
      await this.observe();
      const faults = this.oracle.judge(events);
      const now = performance.now();
      quietAt = faults.length === 0 ? (quietAt ?? now) : undefined;
      const settled = quietAt !== undefined && now - quietAt > SWEEP_MS + 2_000;
      if (settled || now - began > SETTLED_WITHIN_MS) return { faults, events };
      await pause(2_000);
    }
  }

  /** Reads the next page as a subscriber. Returns true if there are more events. */
  async readOn(): Promise<boolean> {
    const { events, next, hasMore } = await this.page(this.cursor);
    this.cursor = next;
    this.read.push(...events);
    return hasMore;
  }

  /** Returns the whole log. */
  async wholeLog(): Promise<EmittedEvent[]> {
    const events: EmittedEvent[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await this.page(cursor);
      events.push(...page.events);
      if (!page.hasMore) return events;
      cursor = page.next;
    }
  }

  /** Returns the last warnings of the processes. */
  complaints(): string {
    const { gateway, worker } = this.product;
    const outputs = [gateway, worker, this.second].map((process) => process?.output().slice(-4_000) ?? '');
    return outputs.map((output) => `${output}\n`).join('');
  }

  print(title: string, counts: Record<string, unknown>): void {
    process.stdout.write(`${title}: ${JSON.stringify(counts, undefined, 1)}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.second?.stop();
    await this.product[Symbol.asyncDispose]();
  }

  private async startSecondWorker(): Promise<void> {
    this.second = await startProcess('worker', { ...this.product.environment(), WORKER_PORT: '0' });
  }

  private async establishBaseline(): Promise<void> {
    await this.observe();
    this.oracle.endBaseline();
    // Once a contact's probe message is reported, the contact was read and its old messages are the baseline.
    for (const { id: contactId } of this.contacts) {
      await this.product.simulate('typing', { contactId, message: `Probe of ${contactId}` });
    }
    await eventually(
      'every contact was read',
      async () => (await this.wholeLog()).length >= this.contacts.length,
      60_000,
    );
  }

  private async kill(stop: AbortSignal): Promise<number> {
    const restarts = [Promise.resolve(), Promise.resolve()];
    const began = performance.now();
    let kills = 0;
    for (;;) {
      const next = began + (kills + 1) * KILL_EVERY_MS - performance.now();
      await pause(next, undefined, { signal: stop }).catch(() => undefined);
      const victim = kills % restarts.length;
      // The previous start of this worker may still be running on a slow machine.
      await restarts[victim];
      if (stop.aborted) break;
      kills += 1;
      restarts[victim] = victim === 0 ? this.replaceFirst() : this.replaceSecond();
    }
    await Promise.all(restarts);
    return kills;
  }

  private async replaceFirst(): Promise<void> {
    await this.product.worker.stop('SIGKILL');
    await this.product.startWorker();
  }

  private async replaceSecond(): Promise<void> {
    await this.second?.stop('SIGKILL');
    await this.startSecondWorker();
  }

  /** Reads events as a subscriber until the signal aborts. Ignores errors during an outage. */
  private async follow(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const more = await this.readOn().catch(() => false);
      if (!more) await pause(100);
    }
  }

  private page(
    cursor: string | undefined,
  ): Promise<{ events: EmittedEvent[]; next: string; hasMore: boolean }> {
    const after = cursor === undefined ? '' : `&after=${cursor}`;
    return this.product.json('GET', `/v1/events?limit=${PAGE}${after}`);
  }

  private async observe(): Promise<void> {
    for (let more = true; more;) {
      const { entries, next, hasMore } = await this.product.simulate<{
        entries: LedgerEntry[];
        next: number;
        hasMore: boolean;
      }>('ledger', { since: this.ledgerAt, kind: ['message.*', 'contact.*', 'list.served'], limit: 10_000 });
      this.oracle.observe(entries);
      this.ledgerAt = next;
      more = hasMore;
    }
  }
}

/** Returns the number of violations per rule. */
export function tally(faults: readonly Fault[]): Record<string, number> {
  const counts: Record<string, number> = { miss: 0, double: 0, false: 0, gap: 0, 'false deletion': 0 };
  for (const { rule } of faults) counts[rule] = (counts[rule] ?? 0) + 1;
  return counts;
}
