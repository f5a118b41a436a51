import type { Account, AccountDirectory } from '#accounts';
import { type ReaderLease, RedisEventConsumer } from '#events';
import {
  closeRedis,
  type Logger,
  newId,
  openRedis,
  oncePerFault,
  pause,
  type WorkerEnvironment,
} from '#platform';
import type { Dispatcher } from '#webhooks';

const BATCH = 500;
/** How long one read waits for events; also how long a stop may take. */
const WAIT_MS = 1_000;
/** A dispatcher that died is replaced after so long. */
const LEASE_MS = 5_000;
const AFTER_FAILURE_MS = 1_000;

/** Reads each account's log and makes deliveries of its events, until it is stopped. */
export class EventDispatch {
  private readonly stopping = new AbortController();
  private loops: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly accounts: AccountDirectory,
    private readonly environment: WorkerEnvironment,
    private readonly logger: Logger,
  ) {}

  /** Redis may be away for now: it is waited for. */
  start(): void {
    this.loops = this.run();
  }

  /** Resolves when no more events are taken and what was taken is dispatched. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loops;
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async run(): Promise<void> {
    const accounts = await this.knownAccounts();
    await Promise.all(accounts.map(({ id }) => this.loop(id)));
  }

  private async knownAccounts(): Promise<Account[]> {
    while (!this.isStopping()) {
      try {
        return await this.accounts.list();
      } catch (error) {
        this.logger.error({ err: error }, 'the accounts could not be read; trying again');
        await pause(AFTER_FAILURE_MS, this.stopping.signal);
      }
    }
    return [];
  }

  private async loop(account: string): Promise<void> {
    const { REDIS_URL, REDIS_KEY_PREFIX } = this.environment;
    // A connection of its own: a read that waits holds it up.
    const redis = openRedis(REDIS_URL, 'patient', oncePerFault(this.logger));
    const lease = { token: newId('req'), leaseMs: LEASE_MS };
    const consumer = new RedisEventConsumer(
      redis,
      REDIS_KEY_PREFIX,
      account,
      lease.token,
      LEASE_MS,
      (place) => {
        this.logger.warn(
          { account, place },
          'the consumer group was lost; events after this place are read again',
        );
      },
    );
    const cut = (): void => {
      // A read that waits for a Redis that is away would never end.
      if (redis.status !== 'ready') redis.disconnect();
    };
    this.stopping.signal.addEventListener('abort', cut);
    while (!this.isStopping()) {
      try {
        await this.round(account, consumer, lease);
      } catch (error) {
        if (this.isStopping()) break;
        this.logger.error({ account, err: error }, 'events could not be dispatched; trying again');
        await pause(AFTER_FAILURE_MS, this.stopping.signal);
      }
    }
    if (redis.status === 'ready') await consumer.leave();
    await closeRedis(redis);
  }

  private async round(account: string, consumer: RedisEventConsumer, lease: ReaderLease): Promise<void> {
    const reading = await consumer.take(BATCH);
    switch (reading.kind) {
      case 'events':
        await this.dispatcher.dispatch(account, reading.events, lease);
        await consumer.acknowledge(reading.events);
        return;
      case 'nothing':
        await consumer.wait(WAIT_MS);
        return;
      case 'elsewhere':
        await pause(Math.min(reading.forMs, WAIT_MS), this.stopping.signal);
    }
  }
}
