import { mkdtemp, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Canaries } from './leaks.js';
import { type ApiCheck, apiCheckOf, checkedReply } from './openapi.js';
import { type ProductName, type ProductProcess, startProcess } from './process.js';
import type { RedisLayout } from './redis-process.js';
import { startTestRedis, type TestRedis } from './redis-server.js';

const SIMULATOR_KEY = 'simulator-key-of-a-test';

/**
 * The checks against the OpenAPI document of this build, by the value of CONTACTS_SHAPE. No other setting changes the
 * document. It is read from the first gateway that this process starts with that value.
 */
const apis = new Map<string | undefined, ApiCheck>();

/**
 * The whole product as real processes on random ports: simulator, Redis, gateway, worker. Each process can be stopped
 * and started again with its state.
 */
export class Product<Layout extends RedisLayout = TestRedis> implements AsyncDisposable {
  readonly apiKey = `tk_${randomBytes(12).toString('hex')}`;
  gateway!: ProductProcess;
  /** Checks replies against the gateway's OpenAPI document. */
  api!: ApiCheck;
  worker!: ProductProcess;
  /** Values that must not be in a log, nor unencrypted in Redis; checked at the end. */
  readonly canaries = new Canaries();
  private readonly logs: { name: string; output: () => string }[] = [];
  simulator!: ProductProcess;

  private constructor(
    readonly redis: Layout,
    private readonly directory: string,
    private readonly extra: Readonly<Record<string, string>>,
  ) {
    this.canaries.addSecret('API_KEY', this.apiKey);
    this.canaries.addSecret('ENCRYPTION_KEY', this.encryptionKey);
    this.canaries.addSecret('UPSTREAM_API_KEY', SIMULATOR_KEY);
    this.canaries.addSecret('the password of Redis', /:([^:@/]+)@/.exec(redis.url)?.[1]);
  }

  /** Starts the product with a new Redis. @param extra environment variables in addition to the defaults */
  static async start(extra: Readonly<Record<string, string>> = {}): Promise<Product> {
    return Product.startOn(await startTestRedis(), extra);
  }

  /**
   * Starts the product on the given Redis processes, which end with the product.
   * @param prepare runs after the start of the simulator and before its first request
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

  /** Starts the simulator, after a restart on the same port, which the other processes use. */
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

  /** @param changes environment variables of this process only */
  async startGateway(changes: Readonly<Record<string, string>> = {}): Promise<void> {
    this.gateway = await startProcess('gateway', {
      ...this.environment(),
      PORT: '0',
      API_KEY: this.apiKey,
      ...changes,
    });
    this.logs.push({ name: 'the gateway', output: this.gateway.output });
    const shape = this.extra['CONTACTS_SHAPE'];
    this.api = apis.get(shape) ?? (await this.readApi());
    apis.set(shape, this.api);
  }

  private async readApi(): Promise<ApiCheck> {
    const document = await fetch(`http://127.0.0.1:${this.gateway.port}/docs/openapi.json`, {
      signal: AbortSignal.timeout(10_000),
    });
    return apiCheckOf(await document.text());
  }

  /** @param changes environment variables of this process only */
  async startWorker(changes: Readonly<Record<string, string>> = {}): Promise<void> {
    this.worker = await startProcess('worker', { ...this.environment(), WORKER_PORT: '0', ...changes });
    this.logs.push({ name: 'the worker', output: this.worker.output });
  }

  /** Environment variables of both gateway and worker. */
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
      // The tests make more requests than the default limit allows.
      RATE_LIMIT_PER_MINUTE: '1000000',
      BLOB_STORE: `file:${join(this.directory, 'blobs')}`,
      ...this.extra,
    };
  }

  /** API key of the simulator. */
  get upstreamKey(): string {
    return SIMULATOR_KEY;
  }

  /** Directory of the blob store. */
  get blobDirectory(): string {
    return join(this.directory, 'blobs');
  }

  /** Sends a request to the gateway, with a plain object as JSON body. @throws {Error} for an undocumented reply */
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

  /** Sends a request and parses the JSON of the reply. @throws {Error} if the status is not 2xx */
  async json<T>(method: string, path: string, body?: object, key = this.apiKey): Promise<T> {
    const response = await this.call(method, path, body, key);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** Calls a verb of the control interface of the simulator, or of another simulator at the given port. */
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

  /** Everything that all gateways and workers wrote until now. */
  allOutput(): string {
    return this.logs.map(({ output }) => output()).join('');
  }

  /** The texts of the messages that the simulator's contacts got. */
  async texts(): Promise<string[]> {
    const { entries } = await this.simulate<{ entries: { message: string }[] }>('ledger', {
      kind: 'send.accepted',
    });
    return entries.map(({ message }) => message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const faults = await this.stopProcesses();
    const leaks = [
      ...this.logs.flatMap(({ name, output }) => this.canaries.leaksInLog(name, output())),
      ...(await this.canaries.leaksInRedis(this.redis.url)),
    ];
    await this.redis.dispose();
    await rm(this.directory, { recursive: true, force: true });
    if (leaks.length > 0) throw new Error(`The product leaked secret values:\n${leaks.join('\n')}`);
    if (faults.length > 0) throw new Error(`The product did not stop as it should:\n${faults.join('\n')}`);
  }

  /** Stops all processes. Returns what was wrong with the end of each; a process that a test killed is no fault. */
  private async stopProcesses(): Promise<string[]> {
    // After a failed start, some of the processes are undefined.
    const running: [ProductName, ProductProcess | undefined][] = [
      ['gateway', this.gateway],
      ['worker', this.worker],
      ['simulator', this.simulator],
    ];
    const ends = await Promise.allSettled(
      running.map(async ([name, process]) => {
        const code = await process?.stop().catch((error: unknown) => {
          throw new Error(`${name}: ${String(error)}`);
        });
        // The code is null if a signal has ended the process.
        if (typeof code === 'number' && code !== 0) throw new Error(`${name} exited with status ${code}`);
      }),
    );
    return ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
  }

  private async noteSecrets(path: string, body: object | undefined, reply: Response): Promise<void> {
    const fields = body instanceof FormData ? Object.fromEntries(body) : body;
    const isJson = reply.headers.get('content-type')?.includes('json') === true;
    const answer: unknown = isJson ? await reply.clone().json() : undefined;
    this.canaries.addExchange(path, fields, answer);
  }

  private readonly encryptionKey = randomBytes(32).toString('base64');
  private simulatorPort: number | undefined;
}
