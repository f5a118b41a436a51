import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { ENVIRONMENT, settingsOf, upstreamKeyOf } from './environment.mjs';

/**
 * A process of the old build.
 * @typedef {{ port: number, output: () => string, stop: (signal?: NodeJS.Signals) => Promise<void> }} OldProcess
 */

/** Runs the processes of a built checkout of an old commit, and talks to them by HTTP. */
export class OldBuild {
  /** @type {Map<string, OldProcess>} */
  processes = new Map();
  /** @type {{ url: string, stop: () => Promise<void> } | undefined} */
  redis;

  /**
   * @param {string} checkout directory of the built checkout
   * @param {string} directory where Redis, the simulators and the blob store keep their files
   * @param {{ api: string, encryption: string }} keys
   */
  constructor(checkout, directory, keys) {
    this.checkout = checkout;
    this.directory = directory;
    this.keys = keys;
  }

  async startRedis() {
    // Builds of the first days had the embedded Redis in the library `platform`.
    const [library = ''] = ['embedded-redis', 'platform']
      .map((name) => join(this.checkout, 'dist/libs', name, 'src/index.js'))
      .filter((path) => existsSync(path));
    /** @type {{ startEmbeddedRedis(options: object): Promise<{ url: string, stop: () => Promise<void> }> }} */
    const { startEmbeddedRedis } = await import(pathToFileURL(library).href);
    this.redis = await startEmbeddedRedis({ dataDirectory: join(this.directory, 'redis') });
  }

  /**
   * Rewrites the append-only file as plain commands, which every Redis since 7.0 reads, and stops Redis.
   *
   * Idempotency keys lose their expiry of 24 hours, or else nothing would be left of them a day later. That is the one
   * change to what the old build stored.
   */
  async stopRedis() {
    const redis = new Redis(this.redis?.url ?? '');
    for (const key of await redis.keys('*:idempotency:*')) await redis.persist(key);
    await redis.config('SET', 'aof-use-rdb-preamble', 'no');
    await redis.bgrewriteaof();
    await until('the append-only file is rewritten', async () => {
      const info = await redis.info('persistence');
      return /aof_rewrite_in_progress:0/.test(info) && /aof_rewrite_scheduled:0/.test(info);
    });
    redis.disconnect();
    await this.redis?.stop();
  }

  /** @param {string} account whose upstream it is */
  async startSimulator(account) {
    await this.start(account, 'simulator', {
      SIMULATOR_PORT: '0',
      SIMULATOR_API_KEY: upstreamKeyOf(account),
      SIMULATOR_STATE_FILE: join(this.directory, 'simulators', `${account}.json`),
      SIMULATOR_SETTINGS: JSON.stringify(settingsOf(account)),
    });
  }

  async startGateway() {
    await this.start('gateway', 'gateway', { ...this.environment(), PORT: '0', API_KEY: this.keys.api });
  }

  /** @param {Record<string, string>} more variables */
  async startWorker(more) {
    await this.start('worker', 'worker', { ...this.environment(), WORKER_PORT: '0', ...more });
  }

  /**
   * @param {string} name
   * @param {NodeJS.Signals} [signal]
   */
  async stop(name, signal) {
    await this.processes.get(name)?.stop(signal);
    this.processes.delete(name);
  }

  /** Ends whatever still runs. */
  async end() {
    for (const name of [...this.processes.keys()]) await this.stop(name, 'SIGKILL');
    await this.redis?.stop();
  }

  /** @param {string} account */
  upstreamOf(account) {
    return { baseUrl: `http://127.0.0.1:${this.port(account)}/v1`, apiKey: upstreamKeyOf(account) };
  }

  /** @param {string} name */
  port(name) {
    const process = this.processes.get(name);
    if (process === undefined) throw new Error(`${name} does not run`);
    return process.port;
  }

  /**
   * The JSON of a reply of the gateway, which must be 2xx.
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @param {Record<string, string>} [headers]
   * @returns {Promise<any>}
   */
  async json(method, path, body, headers = {}) {
    const isForm = body instanceof FormData;
    return await ask(`http://127.0.0.1:${this.port('gateway')}${path}`, {
      method,
      headers: {
        'X-API-Key': this.keys.api,
        ...(body === undefined || isForm ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
  }

  /**
   * A verb of a simulator's control interface.
   * @param {string} name
   * @param {string} verb
   * @param {object} [body]
   * @returns {Promise<any>}
   */
  async simulate(name, verb, body = {}) {
    return await ask(`http://127.0.0.1:${this.port(name)}/_simulator/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  /** @returns {Record<string, string>} */
  environment() {
    return {
      REDIS_URL: this.redis?.url ?? '',
      ENCRYPTION_KEY: this.keys.encryption,
      ...ENVIRONMENT,
      UPSTREAM_BASE_URL: this.upstreamOf('default').baseUrl,
      BLOB_STORE: `file:${join(this.directory, 'blobs')}`,
    };
  }

  /**
   * @param {string} name
   * @param {string} app
   * @param {Record<string, string>} environment
   */
  async start(name, app, environment) {
    const child = spawn(process.execPath, [join(this.checkout, `dist/apps/${app}/src/main.js`)], {
      cwd: this.checkout,
      env: { PATH: process.env.PATH, ...environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let written = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (/** @type {Buffer} */ text) => (written += text.toString()));
    }
    const exited = once(child, 'exit');
    const ready = new Promise((resolve) =>
      child.on('message', (/** @type {{ type?: string, port?: number }} */ { type, port }) => {
        if (type === 'ready') resolve(port);
      }),
    );
    const port = await Promise.race([ready, exited.then(() => undefined)]);
    if (port === undefined) throw new Error(`${name} ended before it was ready:\n${written}`);
    const stop = async (/** @type {NodeJS.Signals} */ signal = 'SIGTERM') => {
      child.kill(signal);
      await exited;
    };
    this.processes.set(name, { port, output: () => written, stop });
  }
}

/**
 * Waits until `look` answers something other than undefined, null or false.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} look
 * @param {number} [deadlineMs]
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(what, look, deadlineMs = 60_000) {
  const end = performance.now() + deadlineMs;
  while (performance.now() < end) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`not seen within ${deadlineMs} ms: ${what}`);
}

/**
 * @param {string} address
 * @param {RequestInit} request
 * @returns {Promise<any>}
 */
async function ask(address, request) {
  const reply = await fetch(address, { ...request, signal: AbortSignal.timeout(30_000) });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${request.method} ${address} answered ${reply.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
