// Compares two builds, or one build with two configurations, in one run: sends that the gateway accepts, and deliveries
// to a webhook, each by throughput and by the CPU time that gateway and worker use.
//   node test/bench/compare-throughput.mjs OTHER_CHECKOUT [ROUNDS] [VARIABLE=VALUE ...]
// Both checkouts must be built (npm run build) and redis-server must be on the PATH. The variables are set for this
// checkout only; `{sink}` in a value becomes the address of a server that accepts every request. Prints ratios of this
// checkout to the other one: a throughput above 1 and a CPU time below 1 are better.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const HERE = resolve(import.meta.dirname, '../..');
const [other = '', rounds = '5', ...variables] = process.argv.slice(2);
if (other === '') {
  console.error('usage: node test/bench/compare-throughput.mjs OTHER_CHECKOUT [ROUNDS] [VARIABLE=VALUE ...]');
  process.exit(2);
}
const EVENTS = 2_000;
const CONNECTIONS = 32;
const ACCEPT_MS = 4_000;
const API_KEY = 'a-key-of-the-comparison';

/** @param {() => Promise<boolean> | boolean} look */
async function until(look) {
  for (
    const end = Date.now() + 120_000;
    Date.now() < end;
    await new Promise((next) => setTimeout(next, 20))
  ) {
    try {
      if (await look()) return;
    } catch {
      // Not ready yet.
    }
  }
  throw new Error('not reached in time');
}

async function freePort() {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((closed) => server.close(closed));
  return port;
}

/** One build with everything that it needs. */
class Side {
  received = 0;
  agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  /** @type {import('node:child_process').ChildProcess[]} */
  children = [];
  /** Gateway and worker. @type {import('node:child_process').ChildProcess[]} */
  programs = [];

  /** @param {string} checkout @param {Record<string, string>} [extra] environment variables of this side only */
  constructor(checkout, extra = {}) {
    this.checkout = checkout;
    this.extra = extra;
  }

  async start() {
    this.folder = await mkdtemp(join(tmpdir(), 'tidings-compare-'));
    const redisPort = await freePort();
    const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--dir', this.folder];
    this.run('redis-server', ['--port', String(redisPort), '--bind', '127.0.0.1', ...durable], {});
    this.receiver = createServer((incoming, response) => {
      incoming.resume().on('end', () => {
        this.received += 1;
        response.writeHead(204).end();
      });
    }).listen(0, '127.0.0.1');
    await once(this.receiver, 'listening');
    const environment = {
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      // Nothing listens there: no send is relayed, no contact polled.
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
      UPSTREAM_API_KEY: 'none',
      API_KEY,
      BLOB_STORE: `file:${this.folder}/blobs`,
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      WEBHOOK_MAX_CONCURRENCY: '100',
      RATE_LIMIT_PER_MINUTE: '100000000',
      LOG_LEVEL: 'warn',
      ...this.extra,
    };
    await new Promise((ready) => setTimeout(ready, 500));
    this.port = await freePort();
    this.programs = [
      this.run(process.execPath, ['dist/gateway.js'], { ...environment, PORT: String(this.port) }),
      this.run(process.execPath, ['dist/worker.js'], {
        ...environment,
        WORKER_PORT: String(await freePort()),
      }),
    ];
    await until(async () => (await this.call('GET', '/health/ready')).status === 200);
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.receiver.address());
    const made = await this.call('POST', '/v1/webhooks', {
      url: `http://127.0.0.1:${port}/`,
      eventTypes: ['send.cancelled'],
    });
    this.webhook = JSON.parse(made.body).id;
    this.since = new Date(Date.now() - 60_000).toISOString();
    const sendAt = new Date(Date.now() + 86_400_000).toISOString();
    await this.inParallel(EVENTS, async (i) => {
      const phoneNumber = `+1415${5_000_000 + i}`;
      const sent = await this.call('POST', '/v1/messages/send', { phoneNumber, message: 'x', sendAt });
      await this.call('POST', `/v1/sends/${JSON.parse(sent.body).id}/cancel`);
    });
    await until(() => this.received >= EVENTS);
    return this;
  }

  /** Accepted sends, and their number per second. */
  async accept() {
    let accepted = 0;
    const sendAt = new Date(Date.now() + 86_400_000).toISOString();
    const end = performance.now() + ACCEPT_MS;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        while (performance.now() < end) {
          const body = { phoneNumber: '+14155550123', message: 'Hello', sendAt };
          if ((await this.call('POST', '/v1/messages/send', body)).status === 200) accepted += 1;
        }
      }),
    );
    return { rate: (accepted / ACCEPT_MS) * 1_000, count: accepted };
  }

  /** Deliveries of a replay of all events, and their number per second. */
  async deliver() {
    const before = this.received;
    const began = performance.now();
    await this.call('POST', `/v1/webhooks/${this.webhook}/replay`, { since: this.since, only: 'all' });
    await until(() => this.received >= before + EVENTS);
    return { rate: (EVENTS / (performance.now() - began)) * 1_000, count: EVENTS };
  }

  /** The CPU time that gateway and worker have used, in ticks of the kernel. */
  async cpuTicks() {
    const stats = await Promise.all(
      this.programs.map(({ pid }) => readFile(`/proc/${String(pid)}/stat`, 'utf8')),
    );
    const fields = stats.map((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' '));
    return fields.reduce((sum, field) => sum + Number(field[11]) + Number(field[12]), 0);
  }

  /**
   * Runs one measurement. Returns its rate and the CPU time of one operation, in milliseconds.
   * @param {'accept' | 'deliver'} figure
   */
  async measure(figure) {
    const before = await this.cpuTicks();
    const { rate, count } = await this[figure]();
    return { rate, cpu: (((await this.cpuTicks()) - before) * 10) / count };
  }

  async stop() {
    for (const child of this.children) child.kill('SIGKILL');
    this.receiver?.closeAllConnections();
    this.receiver?.close();
    this.agent.destroy();
    await rm(this.folder ?? '', { recursive: true, force: true, maxRetries: 10 });
  }

  /** @param {string} file @param {string[]} parameters @param {Record<string, string>} environment */
  run(file, parameters, environment) {
    const env = { PATH: process.env.PATH, ...environment };
    const child = spawn(file, parameters, {
      cwd: this.checkout,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.children.push(child);
    return child;
  }

  /** @param {number} count @param {(i: number) => Promise<void>} work */
  async inParallel(count, work) {
    let next = 0;
    const lane = async () => {
      while (next < count) await work(next++);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  }

  /**
   * @param {string} method @param {string} path @param {object} [body]
   * @returns {Promise<{ status: number | undefined, body: string }>}
   */
  call(method, path, body) {
    return new Promise((answered, failed) => {
      const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
      const { agent, port } = this;
      request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => answered({ status: response.statusCode, body: text }));
      })
        .on('error', failed)
        .end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const sink = createServer((incoming, response) => {
  incoming.resume().on('end', () => response.writeHead(200).end());
}).listen(0, '127.0.0.1');
await once(sink, 'listening');
const { port: sinkPort } = /** @type {import('node:net').AddressInfo} */ (sink.address());
const extra = variables.map((text) => {
  const [name = '', ...value] = text.split('=');
  return [name, value.join('=').replace('{sink}', `http://127.0.0.1:${sinkPort}`)];
});
const mine = new Side(HERE, Object.fromEntries(extra));
const others = new Side(resolve(other));
try {
  await mine.start();
  await others.start();
  for (const figure of /** @type {const} */ (['accept', 'deliver'])) {
    /** @typedef {{ rate: number, cpu: number }} Measured */
    /** @type {{ mine: Measured, others: Measured }[]} */
    const pairs = [];
    for (let round = 0; round < Number(rounds); round += 1) {
      // In turns, so that neither side always comes first.
      const first = round % 2 === 0;
      const a = await (first ? mine : others).measure(figure);
      const b = await (first ? others : mine).measure(figure);
      pairs.push(first ? { mine: a, others: b } : { mine: b, others: a });
    }
    /** @param {keyof Measured} what @param {number} digits */
    const compared = (what, digits) => {
      const ratio = median(pairs.map((pair) => pair.mine[what] / pair.others[what]));
      const both = [
        median(pairs.map((pair) => pair.mine[what])),
        median(pairs.map((pair) => pair.others[what])),
      ];
      return `${both.map((value) => value.toFixed(digits)).join(' and ')} (ratio ${ratio.toFixed(3)})`;
    };
    console.log(`${figure}: ${compared('rate', 0)} a second, ${compared('cpu', 3)} ms of CPU each`);
  }
} finally {
  await Promise.all([mine.stop(), others.stop()]);
  sink.close();
  sink.closeAllConnections();
}
