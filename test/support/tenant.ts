import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProductProcess, startProcess } from './process.js';
import type { Product } from './product.js';
import type { RedisLayout } from './redis-process.js';

/** An additional account with its own upstream and an API key with every scope. */
export class Tenant implements AsyncDisposable {
  private constructor(
    private readonly product: Product<RedisLayout>,
    readonly id: string,
    readonly upstream: ProductProcess,
    /** API key of the account at the gateway. */
    readonly key: string,
    private readonly stateFile: string,
  ) {}

  /** @param more additional fields of the account */
  static async start(product: Product<RedisLayout>, id: string, more: object = {}): Promise<Tenant> {
    const upstreamKey = `upstream-key-${randomBytes(12).toString('hex')}`;
    const stateFile = join(tmpdir(), `tidings-tenant-${randomBytes(8).toString('hex')}.json`);
    const upstream = await startProcess('simulator', {
      SIMULATOR_PORT: '0',
      SIMULATOR_API_KEY: upstreamKey,
      SIMULATOR_STATE_FILE: stateFile,
      SIMULATOR_SETTINGS: JSON.stringify({
        ...{ demo: false, sendVisibleDelayMs: 100, deliveredDelayMs: 200, readProbability: 0 },
      }),
    });
    try {
      const baseUrl = `http://127.0.0.1:${upstream.port}/v1`;
      await product.json('POST', '/v1/accounts', { id, baseUrl, apiKey: upstreamKey, ...more });
      const scopes = ['messages:send', 'messages:read', 'webhooks:manage', 'events:read', 'admin'];
      const asked = { account: id, name: 'of a test', scopes };
      const { key } = await product.json<{ key: string }>('POST', '/v1/api-keys', asked);
      return new Tenant(product, id, upstream, key, stateFile);
    } catch (error) {
      await upstream.stop('SIGKILL');
      throw error;
    }
  }

  call(method: string, path: string, body?: object): Promise<Response> {
    return this.product.call(method, path, body, this.key);
  }

  json<T>(method: string, path: string, body?: object): Promise<T> {
    return this.product.json<T>(method, path, body, this.key);
  }

  simulate<T = unknown>(verb: string, body: object = {}): Promise<T> {
    return this.product.simulate<T>(verb, body, this.upstream.port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstream.stop('SIGKILL');
    await rm(this.stateFile, { force: true });
  }
}
