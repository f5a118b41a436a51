import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedRedis, startEmbeddedRedis } from '#embedded-redis';
import { type ApiCheck, apiCheckOf, checkedReply } from '../support/openapi.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { ENVIRONMENT, ORDERS, settingsOf, upstreamKeyOf } from './environment.mjs';
import { readSnapshot, restoreFiles, type Snapshot } from './snapshot.js';

/** Accounts of the snapshot. */
export const ACCOUNTS = Object.keys(ORDERS);

const CALL_WITHIN_MS = 10_000;

/** The present build with the data that an old build stored. All ports differ from those of the old build. */
export class Upgraded implements AsyncDisposable {
  api!: ApiCheck;
  private gateway: ProductProcess | undefined;
  private worker: ProductProcess | undefined;
  private readonly simulators = new Map<string, ProductProcess>();

  private constructor(
    readonly snapshot: Snapshot,
    private readonly directory: string,
    private readonly redis: EmbeddedRedis,
  ) {}

  /**
   * Starts Redis, the simulators and the gateway, but no worker, so that nothing changes yet.
   * @param snapshotName see {@link readSnapshot}
   */
  static async start(snapshotName: string): Promise<Upgraded> {
    const snapshot = await readSnapshot(snapshotName);
    const directory = await mkdtemp(join(tmpdir(), 'tidings-upgrade-'));
    await restoreFiles(snapshot, directory);
    const redis = await startEmbeddedRedis({ dataDirectory: join(directory, 'redis') });
    const upgraded = new Upgraded(snapshot, directory, redis);
    try {
      await Promise.all(ACCOUNTS.map((account) => upgraded.startSimulator(account)));
      await upgraded.startGateway();
    } catch (error) {
      await upgraded[Symbol.asyncDispose]();
      throw error;
    }
    return upgraded;
  }

  /** Changes the upstream address of each account but `default` to the address of the account's present simulator. */
  async moveAccounts(): Promise<void> {
    for (const account of ACCOUNTS.filter((id) => id !== 'default')) {
      const change = { baseUrl: this.baseUrlOf(account), apiKey: upstreamKeyOf(account) };
      await this.json('PATCH', `/v1/accounts/${account}`, change);
    }
  }

  async startWorker(): Promise<void> {
    this.worker = await startProcess('worker', { ...this.environment(), WORKER_PORT: '0' });
  }

  /** Variables of gateway and worker. The old build had the same limits and waited longer. */
  environment(): Record<string, string> {
    return {
      ...ENVIRONMENT,
      REDIS_URL: this.redis.url,
      ENCRYPTION_KEY: this.snapshot.keys.encryption,
      UPSTREAM_BASE_URL: this.baseUrlOf('default'),
      BLOB_STORE: `file:${join(this.directory, 'blobs')}`,
      // What Redis may have lost is looked up for at least five seconds more than this, before it is posted.
      UPSTREAM_TIMEOUT_MS: '1000',
      CONTACTS_INTERVAL_MS: '500',
      POLL_SWEEP_INTERVAL_MS: '1000',
      POLL_MIN_INTERVAL_MS: '500',
      POLL_MAX_INTERVAL_MS: '1000',
      SEND_CONFIRM_MS: '2000',
      SEND_CONFIRM_MEDIA_MS: '2000',
      SEND_RETRY_SCHEDULE_SECONDS: '1',
      WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,1,1,1,1,1,1,1,1,1',
    };
  }

  /** The address of an account's upstream, with its path. */
  baseUrlOf(account: string): string {
    return `http://127.0.0.1:${this.simulators.get(account)?.port ?? 0}/v1`;
  }

  keyOf(account: string): string {
    const { keys, names } = this.snapshot;
    return account === 'default' ? keys.api : (names.keys[account] ?? '');
  }

  /** Returns the last replies of the old build. */
  answersTo<T>(path: RegExp, account = 'default'): T[] {
    const answers = this.snapshot.answers.filter((one) => one.account === account && path.test(one.path));
    return answers.map(({ reply }) => reply as T);
  }

  /** Sends a request to the gateway. The reply must be as documented. */
  async call(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const reply = await fetch(`http://127.0.0.1:${this.gateway?.port ?? 0}${path}`, {
      method,
      headers: {
        'X-API-Key': this.keyOf('default'),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_WITHIN_MS),
    });
    return await checkedReply(this.api, method, path, reply);
  }

  /** Sends a request as a caller of the account, and returns the JSON of the reply, whose status must be 2xx. */
  async json<T>(method: string, path: string, body?: object, account = 'default'): Promise<T> {
    const reply = await this.call(method, path, body, { 'X-API-Key': this.keyOf(account) });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path} answered ${reply.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** Calls a verb of the control interface of an account's simulator. */
  async simulate<T = unknown>(account: string, verb: string, body: object = {}): Promise<T> {
    const reply = await fetch(`${this.baseUrlOf(account).replace(/v1$/, '_simulator')}/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_WITHIN_MS),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${verb} answered ${reply.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** The id of a contact's oldest message upstream. */
  async oldestMessage(account: string, contactId: string): Promise<string | undefined> {
    type State = { contacts: { messages: { id: string }[] }[] };
    return (await this.simulate<State>(account, 'state', { contactId })).contacts[0]?.messages[0]?.id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = [this.gateway, this.worker, ...this.simulators.values()];
    await Promise.allSettled(running.map(async (process) => process?.stop()));
    await this.redis.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  private async startSimulator(account: string): Promise<void> {
    const simulator = await startProcess('simulator', {
      SIMULATOR_PORT: '0',
      SIMULATOR_API_KEY: upstreamKeyOf(account),
      SIMULATOR_STATE_FILE: join(this.directory, 'simulators', `${account}.json`),
      SIMULATOR_SETTINGS: JSON.stringify(settingsOf(account)),
    });
    this.simulators.set(account, simulator);
  }

  private async startGateway(): Promise<void> {
    const variables = { PORT: '0', API_KEY: this.snapshot.keys.api };
    this.gateway = await startProcess('gateway', { ...this.environment(), ...variables });
    const document = await fetch(`http://127.0.0.1:${this.gateway.port}/docs/openapi.json`);
    this.api = apiCheckOf(await document.text());
  }
}
