import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cursor, type NewEvent, RedisEventLog } from '#events';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { eventually } from '../support/eventually.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';
import type { RedisLayout } from '../support/redis-process.js';
import { startTestRedis, type TestRedis } from '../support/redis-server.js';

const ACCOUNT = 'default';
const ENVIRONMENT = { LOG_LEVEL: 'warn', CONTACTS_INTERVAL_MS: '60000' };
const MIN_KILL_PAUSE_MS = 1_000;
const MAX_KILL_PAUSE_MS = 4_000;
/** Number of events appended in one step. */
const BATCH_SIZE = 100;
const PAGE = 1_000;

/**
 * Behaviour of a subscriber. An `ordered` subscriber is healthy and requests ordered delivery. A `dead`
 * subscriber can be revived.
 */
export type Behaviour = 'healthy' | 'ordered' | 'hangs' | 'failsHalf' | 'dead';

interface ReceivedEvent {
  id: string;
  contactId: string;
  sequence: number;
  data: { number: number };
}

/** A subscriber that counts its received events and verifies each signature. */
export class Subscriber {
  /** Number of 2xx replies per event id. */
  readonly taken = new Map<string, number>();
  /** Number of requests with an invalid signature or id. */
  forged = 0;
  requests = 0;
  /** Number of events that were neither the next event of their contact nor a repetition of the last one. */
  disordered = 0;
  id = '';
  private revived = false;
  private readonly lastOf = new Map<string, number>();
  private key = Buffer.alloc(0);

  private constructor(
    readonly behaviour: Behaviour,
    private readonly server: Server,
    private readonly onEvent: (number: number, subscriber: Subscriber) => void,
  ) {}

  static async listen(
    behaviour: Behaviour,
    onEvent: (number: number, subscriber: Subscriber) => void,
  ): Promise<Subscriber> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const subscriber = new Subscriber(behaviour, server, onEvent);
    server.on('request', (request, response) => {
      subscriber.receive(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return subscriber;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  /** Makes a dead subscriber healthy. */
  revive(): void {
    this.revived = true;
  }

  known(id: string, secret: string): void {
    this.id = id;
    this.key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  }

  /** Number of repeated deliveries of events that were already accepted. */
  get doubled(): number {
    let doubled = 0;
    for (const count of this.taken.values()) doubled += count - 1;
    return doubled;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.requests++;
      const body = Buffer.concat(chunks).toString();
      const id = String(request.headers['webhook-id']);
      const event = JSON.parse(body) as ReceivedEvent;
      const signed = `${id}.${String(request.headers['webhook-timestamp'])}.${body}`;
      const signature = `v1,${createHmac('sha256', this.key).update(signed).digest('base64')}`;
      if (request.headers['webhook-signature'] !== signature || event.id !== id) this.forged++;
      if (this.behaviour === 'hangs') return;
      if (this.behaviour === 'dead' && !this.revived) {
        response.writeHead(500).end();
        return;
      }
      if (this.behaviour === 'failsHalf' && Math.random() < 0.5) {
        response.writeHead(500).end();
        return;
      }
      response.writeHead(204).end();
      this.taken.set(id, (this.taken.get(id) ?? 0) + 1);
      const last = this.lastOf.get(event.contactId) ?? 0;
      if (event.sequence !== last && event.sequence !== last + 1) this.disordered++;
      this.lastOf.set(event.contactId, Math.max(last, event.sequence));
      this.onEvent(event.data.number, this);
    });
  }
}

/** The product with two workers and several subscribers, and an event log that the trial appends to. */
export class WebhookTrial<Layout extends RedisLayout = TestRedis> implements AsyncDisposable {
  readonly subscribers: Subscriber[] = [];
  /** Called for each event answered with 2xx, with the event's number. */
  onEvent: (number: number, subscriber: Subscriber) => void = () => undefined;
  private readonly log: RedisEventLog;
  private second: ProductProcess | undefined;
  private numbers = 0;
  /** Number of events in the log. Undefined after a failed append, until the log is counted. */
  private recorded: number | undefined = 0;

  private constructor(
    readonly product: Product<Layout>,
    private readonly redis: RedisClient,
  ) {
    this.log = new RedisEventLog(redis, 'tidings');
  }

  static async start(behaviours: readonly Behaviour[]): Promise<WebhookTrial> {
    return WebhookTrial.startOn(await startTestRedis(), behaviours);
  }

  /** Starts a trial on this Redis. The Redis ends with the trial. */
  static async startOn<Layout extends RedisLayout>(
    layout: Layout,
    behaviours: readonly Behaviour[],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<WebhookTrial<Layout>> {
    const product = await Product.startOn(layout, { ...ENVIRONMENT, ...settings });
    const redis = openRedis(parseRedisAddress(product.redis.url), 'failFast', () => undefined);
    const trial = new WebhookTrial(product, redis);
    try {
      await once(redis, 'ready');
      trial.second = await trial.startWorker();
      for (const one of behaviours) await trial.subscribe(one);
    } catch (error) {
      await trial[Symbol.asyncDispose]();
      throw error;
    }
    return trial;
  }

  get healthy(): Subscriber[] {
    return this.subscribers.filter(({ behaviour }) => behaviour === 'healthy' || behaviour === 'ordered');
  }

  /** Appends the given number of events, spread over a hundred contacts. */
  async append(count: number): Promise<void> {
    for (let left = count; left > 0; left -= BATCH_SIZE) {
      const events = Array.from({ length: Math.min(left, BATCH_SIZE) }, () => {
        const number = this.numbers++;
        return {
          type: 'message.received' as const,
          contactId: `c${number % 100}`,
          subject: `message:${number}`,
          revision: 1,
          data: {
            number,
            message: { id: `m${number}`, message: 'The table by the window is free at eight.' },
          },
        };
      });
      await this.record(events);
    }
  }

  /** Appends the given number of events in batches at a fixed rate. Ignores failed appends. */
  async appendSlowly(count: number, everyMs: number): Promise<void> {
    for (let left = count; left > 0; left -= BATCH_SIZE) {
      await this.append(Math.min(left, BATCH_SIZE)).catch(() => undefined);
      await pause(everyMs);
    }
  }

  /** Number of the next event. */
  get next(): number {
    return this.numbers;
  }

  /** True if each healthy subscriber has received every event. */
  get complete(): boolean {
    return this.healthy.every(({ taken }) => taken.size >= this.events);
  }

  /** Number of events in the log. */
  get events(): number {
    return this.recorded ?? Infinity;
  }

  async settle(withinMs: number): Promise<void> {
    this.recorded ??= await this.count();
    await eventually('each healthy subscriber has every event', () => this.complete, withinMs);
  }

  /**
   * Kills and restarts the workers in turn, the given number of times. Each worker has time to become the
   * dispatcher first.
   */
  async kill(times: number): Promise<void> {
    for (let kills = 0; kills < times; kills++) {
      await pause(MIN_KILL_PAUSE_MS + Math.random() * (MAX_KILL_PAUSE_MS - MIN_KILL_PAUSE_MS));
      const { product } = this;
      if (kills % 2 === 0) {
        await kill(product.worker);
        await product.startWorker();
      } else {
        await kill(this.second);
        this.second = await this.startWorker();
      }
    }
  }

  async enable(behaviour: Behaviour, enabled: boolean): Promise<void> {
    for (const one of this.subscribers.filter((subscriber) => subscriber.behaviour === behaviour)) {
      await this.product.json('PATCH', `/v1/webhooks/${one.id}`, { enabled });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.subscribers.map((subscriber) => subscriber.close()));
    await Promise.allSettled([this.second?.stop(), closeRedis(this.redis)]);
    await this.product[Symbol.asyncDispose]();
  }

  private async subscribe(behaviour: Behaviour): Promise<void> {
    const subscriber = await Subscriber.listen(behaviour, (number, from) => {
      this.onEvent(number, from);
    });
    this.subscribers.push(subscriber);
    const { id, secret } = await this.product.json<{ id: string; secret: string }>('POST', '/v1/webhooks', {
      url: subscriber.url,
      eventTypes: ['message.received'],
      ordered: behaviour === 'ordered',
    });
    subscriber.known(id, secret);
  }

  private async record(events: readonly NewEvent[]): Promise<void> {
    try {
      await this.log.append(ACCOUNT, events);
    } catch (error) {
      this.recorded = undefined;
      throw error;
    }
    if (this.recorded !== undefined) this.recorded += events.length;
  }

  private async count(): Promise<number> {
    let count = 0;
    for (let after: Cursor | undefined; ;) {
      const { events, next } = await this.log.read(ACCOUNT, after, PAGE);
      count += events.filter(({ type }) => type === 'message.received').length;
      if (events.length === 0) return count;
      after = next;
    }
  }

  private async startWorker(): Promise<ProductProcess> {
    return startProcess('worker', { ...this.product.environment(), WORKER_PORT: '0' });
  }
}

async function kill(worker: ProductProcess | undefined): Promise<void> {
  if (worker === undefined) throw new Error('no worker to kill');
  const gone = once(worker.child, 'exit');
  worker.child.kill('SIGKILL');
  await gone;
}
