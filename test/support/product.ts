import { mkdtemp, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Canaries } from './leaks.js';
import { type ApiCheck, apiCheckOf, checkedReply } from './openapi.js';
import { type ProductProcess, startProcess } from './process.js';
import type { RedisLayout } from './redis-process.js';
import { startTestRedis, type TestRedis } from './redis-server.js';

const SIMULATOR_KEY = 'simulator-key-of-a-test';

/**
 * The whole product as real processes on random ports: simulator, Redis, gateway, worker.
 * Each may be stopped and started again; the state stays.
 */
export class Product<Layout extends RedisLayout = TestRedis> implements AsyncDisposable {
  readonly apiKey = `tk_${randomBytes(12).toString('hex')}`;
  gateway!: ProductProcess;
  /** By the gateway's own OpenAPI document. */
  api!: ApiCheck;
  worker!: ProductProcess;
  /** What must stand in no log, and not in clear in Redis: looked for at the end. */
  readonly canaries = new Canaries();
  private readonly logs: { name: string; output: () => string }[] = [];
  simulator!: ProductProcess;

  private constructor(
    readonly redis: Layout,
    private readonly directory: string,
    private readonly extra: Readonly<Record<string, string>>,
  ) {
    this.canaries.secret('API_KEY', this.apiKey);
    this.canaries.secret('ENCRYPTION_KEY', this.encryptionKey);
    this.canaries.secret('UPSTREAM_API_KEY', SIMULATOR_KEY);
    this.canaries.secret('the password of Redis', /:([^:@/]+)@/.exec(redis.url)?.[1]);
  }

  /** On a Redis of its own. @param extra variables over the test's defaults */
  static async start(extra: Readonly<Record<string, string>> = {}): Promise<Product> {
    return Product.startOn(await startTestRedis(), extra);
  }

  /**
   * On these Redis processes, which end with it.
   * @param prepare runs when the simulator is there and nobody has read it yet
   */
  static async startOn<Layout extends RedisLayout>(
    redis: Layout,
    extra: Readonly<Record<string, string>> = {},
    prepare: (product: Product<Layout>) => Promise<void> = () => Promise.resolve(),
  ): Promise<Product<Layout>> {
    const product = new Product(redis, await mkdtemp(join(tmpdir(), 'tidings-e2e-')), extra);
    try {
      await product.startSimulator();
      await prepare(product);
      await Promise.all([product.startGateway(), product.startWorker()]);
    } catch (error) {
      await product[Symbol.asyncDispose]();
      throw error;
    }
    return product;
  }

  /** On the port that it had before, if it had one: the others know it by that. */
  async startSimulator(): Promise<void> {
    this.simulator = await startProcess('simulator', {
      SIMULATOR_PORT: String(this.simulatorPort ?? 0),
      SIMULATOR_API_KEY: SIMULATOR_KEY,
      SIMULATOR_STATE_FILE: join(this.directory, 'simulator.json'),
      SIMULATOR_SETTINGS: JSON.stringify({
        demo: false,
        sendVisibleDelayMs: 100,
        deliveredDelayMs: 200,
        readProbability: 0,
      }),
    });
    this.simulatorPort = this.simulator.port;
  }

  async startGateway(): Promise<void> {
    this.gateway = await startProcess('gateway', { ...this.environment(), PORT: '0', API_KEY: this.apiKey });
    this.logs.push({ name: 'the gateway', output: this.gateway.output });
    const document = await fetch(`http://127.0.0.1:${this.gateway.port}/docs/openapi.json`, {
      signal: AbortSignal.timeout(10_000),
    });
    this.api = apiCheckOf(await document.text());
  }

  async startWorker(): Promise<void> {
    this.worker = await startProcess('worker', { ...this.environment(), WORKER_PORT: '0' });
    this.logs.push({ name: 'the worker', output: this.worker.output });
  }

  /** Variables that gateway and worker share. */
  environment(): Record<string, string> {
    return {
      REDIS_URL: this.redis.url,
      ENCRYPTION_KEY: this.encryptionKey,
      UPSTREAM_BASE_URL: `http://127.0.0.1:${this.simulatorPort ?? 0}/v1`,
      UPSTREAM_API_KEY: SIMULATOR_KEY,
      UPSTREAM_REQUESTS_PER_SECOND: '100',
      CONTACTS_INTERVAL_MS: '500',
      POLL_MIN_INTERVAL_MS: '200',
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,1,2,2,5',
      SEND_RETRY_SCHEDULE_SECONDS: '1',
      // The trials ask more often than any one caller may.
      RATE_LIMIT_PER_MINUTE: '1000000',
      BLOB_STORE: `file:${join(this.directory, 'blobs')}`,
      ...this.extra,
    };
  }

  /** The key of the simulator's one account. */
  get upstreamKey(): string {
    return SIMULATOR_KEY;
  }

  /** Where uploads wait. */
  get blobDirectory(): string {
    return join(this.directory, 'blobs');
  }

  /** A request to the gateway with the key. A plain object as body goes as JSON. The reply must be as documented. */
  async call(method: string, path: string, body?: object, key = this.apiKey): Promise<Response> {
    const reply = await fetch(`http://127.0.0.1:${this.gateway.port}${path}`, {
      method,
      headers: {
        'X-API-Key': key,
        ...(body === undefined || body instanceof FormData ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    await this.noteSecrets(path, body, reply);
    return await checkedReply(this.api, method, path, reply);
  }

  /** The JSON of a reply that must be 2xx. */
  async json<T>(method: string, path: string, body?: object, key = this.apiKey): Promise<T> {
    const response = await this.call(method, path, body, key);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** A verb of the control interface of the simulator, or of another one at this port. */
  async simulate<T = unknown>(verb: string, body: object = {}, port = this.simulator.port): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${port}/_simulator/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${verb} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** What all gateways and workers wrote so far. */
  written(): string {
    return this.logs.map(({ output }) => output()).join('');
  }

  /** The messages that the simulator's contacts got, by text. */
  async texts(): Promise<string[]> {
    const { entries } = await this.simulate<{ entries: { message: string }[] }>('ledger', {
      kind: 'send.accepted',
    });
    return entries.map(({ message }) => message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A start that failed half-way left some of them unset.
    const running: (ProductProcess | undefined)[] = [this.gateway, this.worker, this.simulator];
    await Promise.allSettled(running.map(async (process) => process?.stop()));
    const leaks = [
      ...this.logs.flatMap(({ name, output }) => this.canaries.inLog(name, output())),
      ...(await this.canaries.inRedis(this.redis.url)),
    ];
    await this.redis.dispose();
    await rm(this.directory, { recursive: true, force: true });
    if (leaks.length > 0) throw new Error(`The product tells what it must not:\n${leaks.join('\n')}`);
  }

  private async noteSecrets(path: string, body: object | undefined, reply: Response): Promise<void> {
    const fields = body instanceof FormData ? Object.fromEntries(body) : body;
    const isJson = reply.headers.get('content-type')?.includes('json') === true;
    const answer: unknown = isJson ? await reply.clone().json() : undefined;
    this.canaries.exchange(path, fields, answer);
  }

  private readonly encryptionKey = randomBytes(32).toString('base64');
  private simulatorPort: number | undefined;
}
