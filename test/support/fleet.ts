import { randomBytes } from 'node:crypto';
import { type ProductProcess, startProcess } from './process.js';
import { startTestRedis, type TestRedis } from './redis-server.js';

const UPSTREAM_KEY = 'upstream-key-of-a-trial';
const CALL_TIMEOUT_MS = 30_000;
const PAGE = 1_000;
const LEDGER_PAGE = 100_000;

/** Settings of a {@link Fleet}. */
export interface FleetPlan {
  /** Environment variables of the gateway and of every worker. */
  environment?: Readonly<Record<string, string>>;
  /** The simulator's settings that differ from its defaults. */
  settings?: object;
  /** Base address of another upstream instead of the simulator, including `/v1`. */
  upstream?: string;
  seed?: number;
}

/** An event as `GET /v1/events` shows it. */
export interface FleetEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly contactId: string;
  readonly data: { readonly message?: { readonly id: string }; readonly contact?: { readonly id: string } };
}

/** An entry of kind `request` in the simulator's ledger. Times are milliseconds since 1970. */
export interface UpstreamRequest {
  readonly path: string;
  readonly status: number | null;
  readonly arrivedAt: number;
  readonly durationMs: number;
}

/** The field `poller` of `GET /v1/status`. */
export interface PollerStatus {
  readonly state: string;
  readonly contacts: number;
  readonly due: number;
  readonly listedAt: string | null;
  readonly unreadable: number;
  /** Number of messages that were skipped because every page with them fails. */
  readonly skipped?: number;
}

/**
 * The product as real processes on random ports: Redis, the simulator, a gateway and any number of workers. Unlike
 * `Product`, it keeps the simulator's state in memory, so that large data sets need no disk, and it starts no worker on
 * its own.
 */
export class Fleet implements AsyncDisposable {
  readonly workers: ProductProcess[] = [];
  private readonly apiKey = `tk_${randomBytes(12).toString('hex')}`;
  private readonly encryptionKey = randomBytes(32).toString('base64');
  private gateway: ProductProcess | undefined;
  private simulator: ProductProcess | undefined;
  private readonly ended: ProductProcess[] = [];

  private constructor(
    readonly redis: TestRedis,
    private readonly plan: FleetPlan,
  ) {}

  /** Starts Redis and upstream only: no process has read upstream yet. */
  static async open(plan: FleetPlan = {}): Promise<Fleet> {
    const fleet = new Fleet(await startTestRedis(), plan);
    if (plan.upstream !== undefined) return fleet;
    try {
      fleet.simulator = await startProcess('simulator', {
        SIMULATOR_PORT: '0',
        SIMULATOR_API_KEY: UPSTREAM_KEY,
        SIMULATOR_SEED: String(plan.seed ?? 1),
        SIMULATOR_SETTINGS: JSON.stringify({ demo: false, ...plan.settings }),
      });
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  async startGateway(): Promise<void> {
    this.gateway = await startProcess('gateway', {
      ...this.environment(),
      PORT: '0',
      API_KEY: this.apiKey,
      RATE_LIMIT_PER_MINUTE: '1000000',
    });
  }

  /** @param extra environment variables of this worker only */
  async startWorker(extra: Readonly<Record<string, string>> = {}): Promise<ProductProcess> {
    const worker = await startProcess('worker', { ...this.environment(), WORKER_PORT: '0', ...extra });
    this.workers.push(worker);
    return worker;
  }

  async kill(worker: ProductProcess): Promise<void> {
    this.workers.splice(this.workers.indexOf(worker), 1);
    this.ended.push(worker);
    await worker.stop('SIGKILL');
  }

  /** Parses the JSON of a gateway reply. @throws {Error} if the status is not 2xx */
  async json<T>(path: string): Promise<T> {
    return await ask<T>(`http://127.0.0.1:${this.gateway?.port ?? 0}${path}`, {
      headers: { 'X-API-Key': this.apiKey },
    });
  }

  async poller(): Promise<PollerStatus> {
    return (await this.json<{ poller: PollerStatus }>('/v1/status')).poller;
  }

  /** All events in the log, or only those of the given types. */
  async events(types = ''): Promise<FleetEvent[]> {
    const events: FleetEvent[] = [];
    const filter = types === '' ? '' : `&types=${types}`;
    for (let cursor = ''; ;) {
      const page = await this.json<{ events: FleetEvent[]; next: string; hasMore: boolean }>(
        `/v1/events?limit=${PAGE}${filter}${cursor === '' ? '' : `&after=${cursor}`}`,
      );
      events.push(...page.events);
      if (!page.hasMore) return events;
      cursor = page.next;
    }
  }

  /** Calls a verb of the simulator's control interface. */
  async simulate<T = unknown>(verb: string, body: object = {}): Promise<T> {
    return await ask<T>(`http://127.0.0.1:${this.simulator?.port ?? 0}/_simulator/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  /** Creates contacts, each with messages a minute apart that are at least two hours old. Returns the contact ids. */
  async createContacts(contacts: number, messages: number, fields: object = {}): Promise<string[]> {
    const made = await this.simulate<{ contacts: { id: string }[] }>('contacts', { count: contacts });
    const timestamp = Date.now() - 2 * 3_600_000 - messages * 60_000;
    for (const { id: contactId } of made.contacts) {
      await this.simulate('messages', {
        ...{ contactId, count: messages, text: 'Old {n}', timestamp, intervalMs: 60_000 },
        ...fields,
      });
    }
    return made.contacts.map(({ id }) => id);
  }

  /** All entries of the given kinds in the simulator's ledger. */
  async ledger<Entry>(kind: string | readonly string[]): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (let since = 0, more = true; more;) {
      const page = await this.simulate<{ entries: Entry[]; next: number; hasMore: boolean }>('ledger', {
        ...{ since, kind, limit: LEDGER_PAGE },
      });
      entries.push(...page.entries);
      [since, more] = [page.next, page.hasMore];
    }
    return entries;
  }

  /** The finished requests, in the order in which they finished. */
  async requests(): Promise<UpstreamRequest[]> {
    return await this.ledger<UpstreamRequest>('request');
  }

  /** The last output of the workers, for a failure report. */
  workerOutput(): string {
    return [...this.workers, ...this.ended].map(({ output }) => output().slice(-3_000)).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = [this.gateway, ...this.workers, this.simulator];
    await Promise.allSettled(running.map(async (process) => process?.stop()));
    await this.redis.dispose();
  }

  private environment(): Record<string, string> {
    return {
      REDIS_URL: this.redis.url,
      ENCRYPTION_KEY: this.encryptionKey,
      UPSTREAM_BASE_URL: this.plan.upstream ?? `http://127.0.0.1:${this.simulator?.port ?? 0}/v1`,
      UPSTREAM_API_KEY: UPSTREAM_KEY,
      LOG_LEVEL: 'warn',
      ...this.plan.environment,
    };
  }
}

async function ask<T>(address: string, request: RequestInit): Promise<T> {
  const response = await fetch(address, { ...request, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${address} answered ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}
