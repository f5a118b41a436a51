import { once } from 'node:events';
import { SecretCipher } from '#accounts';
import { type LoggedEvent, type NewEvent, RedisEventConsumer, RedisEventLog } from '#events';
import {
  closeRedis,
  createLogger,
  type Logger,
  newId,
  openRedis,
  parseNetworks,
  parseRedisAddress,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import {
  BacklogRefiller,
  DeliveryAttempter,
  type DeliveryClient,
  type DeliveryJobs,
  DeliveryRunner,
  WebhookUrlChecker,
  DestinationGuard,
  EventDispatcher,
  EndpointManager,
  HttpDeliveryClient,
  type DeliveryWorkerSettings,
  RedisEndpointStore,
  createHostNameResolver,
} from '#webhooks';
import { TestDeliveryStore } from './test-delivery-store.js';

export const ACCOUNT = 'default';

/** Passes each hint to the runners of this process after its delay, and records all hints. */
class LocalJobs implements DeliveryJobs {
  readonly hints: { endpointIds: readonly string[]; delayMs: number }[] = [];
  readonly runners: DeliveryRunner[] = [];
  /** True to drop all further hints. */
  lost = false;
  private readonly timers = new Set<NodeJS.Timeout>();

  wake(account: string, endpointIds: readonly string[], delayMs = 0): Promise<void> {
    this.hints.push({ endpointIds, delayMs });
    if (this.lost) return Promise.resolve();
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      for (const worker of this.runners) {
        for (const endpointId of endpointIds) worker.work(account, endpointId).catch(() => undefined);
      }
      // The agenda of the product wakes no worker early. A timer may fire up to a millisecond early by Redis' clock.
    }, delayMs + 1);
    this.timers.add(timer);
    return Promise.resolve();
  }

  remind(account: string, endpointIds: readonly string[]): Promise<void> {
    return this.wake(account, endpointIds);
  }

  stop(): void {
    this.lost = true;
    for (const timer of this.timers) clearTimeout(timer);
  }
}

/** Test harness: everything from the event log to the webhooks, in this process, with its own Redis key prefix. */
export class WebhookHarness {
  readonly prefix = newId('req');
  readonly jobs = new LocalJobs();
  /** The log lines written so far. */
  readonly lines: Record<string, unknown>[] = [];
  readonly log: RedisEventLog;
  readonly endpointStore: RedisEndpointStore;
  readonly deliveries: TestDeliveryStore;
  readonly endpoints: EndpointManager;
  readonly dispatcher: EventDispatcher;
  private readonly guard = new DestinationGuard(parseNetworks('127.0.0.0/8'));
  private readonly cipher = new SecretCipher(Buffer.alloc(32, 7));
  private readonly clients: HttpDeliveryClient[] = [];
  readonly logger: Logger;
  private revision = 0;

  private constructor(readonly redis: RedisClient) {
    this.logger = createLogger('test', 'info', {
      write: (line) => this.lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    this.log = new RedisEventLog(redis, this.prefix);
    this.endpointStore = new RedisEndpointStore(redis, this.prefix, clockOfThisMachine);
    this.deliveries = new TestDeliveryStore(redis, this.prefix);
    const check = new WebhookUrlChecker(this.guard, createHostNameResolver());
    this.endpoints = new EndpointManager(
      this.endpointStore,
      this.deliveries,
      check,
      this.cipher,
      clockOfThisMachine,
      this.jobs,
      this.logger,
    );
    this.dispatcher = new EventDispatcher(this.endpointStore, this.deliveries, this.jobs, this.logger);
  }

  static async open(url: string): Promise<WebhookHarness> {
    const redis = openRedis(parseRedisAddress(url), 'patient', () => undefined);
    await once(redis, 'ready');
    return new WebhookHarness(redis);
  }

  /** Starts a runner that receives the hints. `schedule` lists the waits between attempts, in seconds. */
  startRunner(
    schedule: readonly number[] = [],
    settings: Partial<DeliveryWorkerSettings> = {},
    client?: DeliveryClient,
  ): DeliveryRunner {
    const { timeoutMs = 2_000 } = settings;
    const http = new HttpDeliveryClient(this.guard, createHostNameResolver(), timeoutMs);
    this.clients.push(http);
    const policy = { scheduleSeconds: schedule, random: () => 0.5 };
    const runner = new DeliveryRunner(
      this.deliveries,
      this.endpointStore,
      new BacklogRefiller(this.endpointStore, this.deliveries, this.log, this.logger),
      new DeliveryAttempter(client ?? http, this.cipher, policy, clockOfThisMachine, '1.2.3'),
      this.jobs,
      { maxConcurrency: 20, disableAfterMs: 3_600_000, timeoutMs, ...settings },
      this.logger,
    );
    this.jobs.runners.push(runner);
    const drain = runner.drain.bind(runner);
    // As in a worker, a process that stops takes no further jobs.
    runner.drain = (deadlineMs) => {
      this.jobs.runners.splice(this.jobs.runners.indexOf(runner), 1);
      return drain(deadlineMs);
    };
    return runner;
  }

  /** Returns a consumer that reads the log for dispatch. */
  reader(): RedisEventConsumer {
    return new RedisEventConsumer(this.redis, this.prefix, ACCOUNT, 'reader', 600_000, () => undefined);
  }

  /** Records events and returns them as read from the log. */
  async record(count: number, event: Partial<NewEvent> = {}): Promise<LoggedEvent[]> {
    const end = await this.log.end(ACCOUNT);
    await this.log.append(
      ACCOUNT,
      Array.from({ length: count }, () => ({
        type: 'message.received' as const,
        contactId: 'c1',
        subject: 'message:m1',
        revision: ++this.revision,
        data: { message: { text: 'Grüße \u{1F44B}' } },
        ...event,
      })),
    );
    return (await this.log.read(ACCOUNT, end, count)).events;
  }

  /** Marks all events of the log as dispatched. */
  async markDispatched(): Promise<void> {
    const { position } = await this.log.end(ACCOUNT);
    await this.redis.hset(`${this.prefix}:{${ACCOUNT}}:events:counters`, 'dispatched', position);
  }

  async close(): Promise<void> {
    this.jobs.stop();
    await Promise.all([...this.jobs.runners].map((runner) => runner.drain(0)));
    await Promise.all(this.clients.map((client) => client.close()));
    await closeRedis(this.redis);
  }
}
