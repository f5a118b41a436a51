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
const LEAST_KILL_PAUSE_MS = 1_000;
const MOST_KILL_PAUSE_MS = 4_000;
/** Appended in one step. */
const CHUNK = 100;
const PAGE = 1_000;

/** How a subscriber behaves; one that is healthy may have asked for order, and one that is dead may be revived. */
export type Manners = 'healthy' | 'ordered' | 'hangs' | 'failsHalf' | 'dead';

interface Told {
  id: string;
  contactId: string;
  sequence: number;
  data: { number: number };
}

/** A subscriber of the trial: counts what it got by event, and judges each signature by itself. */
export class Subscriber {
  /** How often each event was answered 2xx. */
  readonly taken = new Map<string, number>();
  /** Requests whose signature or id did not hold. */
  forged = 0;
  requests = 0;
  /** Events that came neither next after the last of their contact, nor as that one again. */
  disordered = 0;
  id = '';
  private revived = false;
  private readonly lastOf = new Map<string, number>();
  private key = Buffer.alloc(0);

  private constructor(
    readonly manners: Manners,
    private readonly server: Server,
    private readonly onEvent: (number: number, subscriber: Subscriber) => void,
  ) {}

  static async listen(
    manners: Manners,
    onEvent: (number: number, subscriber: Subscriber) => void,
  ): Promise<Subscriber> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const subscriber = new Subscriber(manners, server, onEvent);
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

  /** From now on a dead one is healthy. */
  revive(): void {
    this.revived = true;
  }

  known(id: string, secret: string): void {
    this.id = id;
    this.key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  }

  /** Answers beyond the first for an event. */
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
      const event = JSON.parse(body) as Told;
      const signed = `${id}.${String(request.headers['webhook-timestamp'])}.${body}`;
      const signature = `v1,${createHmac('sha256', this.key).update(signed).digest('base64')}`;
      if (request.headers['webhook-signature'] !== signature || event.id !== id) this.forged++;
      if (this.manners === 'hangs') return;
      if (this.manners === 'dead' && !this.revived) {
        response.writeHead(500).end();
        return;
      }
      if (this.manners === 'failsHalf' && Math.random() < 0.5) {
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

/** The product with two workers, its subscribers, and events that are put into its log. */
export class WebhookTrial<Layout extends RedisLayout = TestRedis> implements AsyncDisposable {
  readonly subscribers: Subscriber[] = [];
  /** Told of every event that is answered 2xx, by its number. */
  onEvent: (number: number, subscriber: Subscriber) => void = () => undefined;
  private readonly log: RedisEventLog;
  private second: ProductProcess | undefined;
  private numbers = 0;
  /** Of the events in the log; known only once it was read, where it is not known whether some were appended. */
  private recorded: number | undefined = 0;

  private constructor(
    readonly product: Product<Layout>,
    private readonly redis: RedisClient,
  ) {
    this.log = new RedisEventLog(redis, 'tidings');
  }

  static async start(manners: readonly Manners[]): Promise<WebhookTrial> {
    return WebhookTrial.startOn(await startTestRedis(), manners);
  }

  /** On this Redis, which ends with it. */
  static async startOn<Layout extends RedisLayout>(
    layout: Layout,
    manners: readonly Manners[],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<WebhookTrial<Layout>> {
    const product = await Product.startOn(layout, { ...ENVIRONMENT, ...settings });
    const redis = openRedis(parseRedisAddress(product.redis.url), 'failFast', () => undefined);
    const trial = new WebhookTrial(product, redis);
    try {
      await once(redis, 'ready');
      trial.second = await trial.startWorker();
      for (const one of manners) await trial.subscribe(one);
    } catch (error) {
      await trial[Symbol.asyncDispose]();
      throw error;
    }
    return trial;
  }

  get healthy(): Subscriber[] {
    return this.subscribers.filter(({ manners }) => manners === 'healthy' || manners === 'ordered');
  }

  /** Records so many events, of a hundred contacts. */
  async append(count: number): Promise<void> {
    for (let left = count; left > 0; left -= CHUNK) {
      const events = Array.from({ length: Math.min(left, CHUNK) }, () => {
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

  /** Records so many events, a chunk of them at each time of a rhythm, whether or not they can be stored then. */
  async appendSlowly(count: number, everyMs: number): Promise<void> {
    for (let left = count; left > 0; left -= CHUNK) {
      await this.append(Math.min(left, CHUNK)).catch(() => undefined);
      await pause(everyMs);
    }
  }

  /** The number that the next event gets. */
  get next(): number {
    return this.numbers;
  }

  /** Whether each healthy subscriber has every event. */
  get complete(): boolean {
    return this.healthy.every(({ taken }) => taken.size >= this.events);
  }

  /** How many events the log has. */
  get events(): number {
    return this.recorded ?? Infinity;
  }

  async settle(withinMs: number): Promise<void> {
    this.recorded ??= await this.count();
    await eventually('each healthy subscriber has every event', () => this.complete, withinMs);
  }

  /** Kills the workers in turn, each once it may be the dispatcher, and starts them again; so many times. */
  async kill(times: number): Promise<void> {
    for (let kills = 0; kills < times; kills++) {
      await pause(LEAST_KILL_PAUSE_MS + Math.random() * (MOST_KILL_PAUSE_MS - LEAST_KILL_PAUSE_MS));
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

  async enable(manners: Manners, enabled: boolean): Promise<void> {
    for (const one of this.subscribers.filter((subscriber) => subscriber.manners === manners)) {
      await this.product.json('PATCH', `/v1/webhooks/${one.id}`, { enabled });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.subscribers.map((subscriber) => subscriber.close()));
    await Promise.allSettled([this.second?.stop(), closeRedis(this.redis)]);
    await this.product[Symbol.asyncDispose]();
  }

  private async subscribe(manners: Manners): Promise<void> {
    const subscriber = await Subscriber.listen(manners, (number, from) => {
      this.onEvent(number, from);
    });
    this.subscribers.push(subscriber);
    const { id, secret } = await this.product.json<{ id: string; secret: string }>('POST', '/v1/webhooks', {
      url: subscriber.url,
      eventTypes: ['message.received'],
      ordered: manners === 'ordered',
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
  if (worker === undefined) throw new Error('there is no worker to be killed');
  const gone = once(worker.child, 'exit');
  worker.child.kill('SIGKILL');
  await gone;
}
