import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, Redis } from 'ioredis';
import type { RedisClient } from '#platform';
import { type ProductProcess, startProcess } from '../../support/process.js';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';

const EVERY_SECOND = ['appendfsync', 'everysec'] as const;

/** The gateway, a worker and Redis as in production: append-only file, written to disk every second. */
export class Installation implements AsyncDisposable {
  readonly apiKey = `tk_${randomBytes(12).toString('hex')}`;
  gateway!: ProductProcess;
  worker!: ProductProcess;
  private readonly environment: Record<string, string>;

  private constructor(
    readonly redis: BenchmarkRedis,
    private readonly folder: string,
    settings: Readonly<Record<string, string>>,
  ) {
    this.environment = {
      REDIS_URL: redis.url,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      API_KEY: this.apiKey,
      // Nothing listens there, unless the settings say otherwise.
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
      UPSTREAM_API_KEY: 'key-of-the-benchmark',
      BLOB_STORE: `file:${join(folder, 'blobs')}`,
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      RATE_LIMIT_PER_MINUTE: '2147483647',
      LOG_LEVEL: 'warn',
      ...settings,
    };
  }

  /**
   * @param settings environment variables of gateway and worker
   * @param redis ends with the installation
   */
  static async start(
    settings: Readonly<Record<string, string>> = {},
    redis?: BenchmarkRedis,
  ): Promise<Installation> {
    redis ??= await BenchmarkRedis.start();
    const folder = await mkdtemp(join(tmpdir(), 'tidings-bench-'));
    const installation = new Installation(redis, folder, settings);
    try {
      await Promise.all([installation.startGateway(), installation.startWorker()]);
    } catch (error) {
      await installation[Symbol.asyncDispose]();
      throw error;
    }
    return installation;
  }

  async startGateway(): Promise<void> {
    this.gateway = await startProcess('gateway', { ...this.environment, PORT: '0' });
  }

  /** @param settings environment variables of this worker only */
  async startWorker(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    this.worker = await startProcess('worker', { ...this.environment, WORKER_PORT: '0', ...settings });
  }

  get pids(): number[] {
    return [pidOf(this.gateway), pidOf(this.worker)];
  }

  /** Calls the API of the gateway. @throws {Error} if the status is not 2xx */
  async call<T>(method: string, path: string, body?: object, apiKey = this.apiKey): Promise<T> {
    const reply = await fetch(`http://127.0.0.1:${this.gateway.port}${path}`, {
      method,
      headers: { 'X-API-Key': apiKey, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path} answered ${reply.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running: (ProductProcess | undefined)[] = [this.gateway, this.worker];
    await Promise.allSettled(running.map(async (process) => process?.stop('SIGKILL')));
    await this.redis[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

export function pidOf({ child }: ProductProcess): number {
  if (child.pid === undefined) throw new Error('the process is not running');
  return child.pid;
}

/** A Redis with an append-only file that is written to disk every second, and a connection to it. */
export class BenchmarkRedis implements AsyncDisposable {
  private constructor(
    private readonly server: { url: string; dispose(): Promise<void> },
    readonly client: RedisClient,
    /** Process ids of the servers. */
    readonly pids: readonly number[],
  ) {}

  static async start(): Promise<BenchmarkRedis> {
    const server = await startTestRedis();
    // A plain client: the product's would give up after a second, which a busy Redis may exceed.
    const client = new Redis(server.url);
    await client.config('SET', ...EVERY_SECOND);
    return new BenchmarkRedis(server, client, [server.server.pid]);
  }

  /** Starts a Cluster of three masters. */
  static async startCluster(): Promise<BenchmarkRedis> {
    const cluster = await startTestCluster();
    for (const master of cluster.masters) await master.ask('CONFIG', 'SET', ...EVERY_SECOND);
    const { password } = new URL(cluster.url.split(',')[0] ?? '');
    const nodes = cluster.masters.map(({ port }) => ({ host: '127.0.0.1', port }));
    const client = new Cluster(nodes, { redisOptions: { password } });
    return new BenchmarkRedis(
      cluster,
      client,
      cluster.masters.map(({ pid }) => pid),
    );
  }

  get url(): string {
    return this.server.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.disconnect();
    await this.server.dispose();
  }
}
