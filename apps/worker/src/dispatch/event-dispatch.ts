import { hostname } from 'node:os';
import type { AccountDirectory } from '#accounts';
import { RedisEventConsumer } from '#events';
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
/** What a dispatcher left for so long, another takes. */
const CLAIM_AFTER_MS = 10_000;
/** A dispatcher that was not heard of for so long, and left nothing, is forgotten. */
const FORGOTTEN_AFTER_MS = 3_600_000;
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

  async start(): Promise<void> {
    const accounts = await this.accounts.list();
    this.loops = Promise.all(accounts.map(({ id }) => this.loop(id)));
  }

  /** Resolves when no more events are taken and what was taken is dispatched. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loops;
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async loop(account: string): Promise<void> {
    const { REDIS_URL, REDIS_KEY_PREFIX } = this.environment;
    // A connection of its own: a read that waits holds it up.
    const redis = openRedis(REDIS_URL, 'patient', oncePerFault(this.logger));
    const name = `${hostname()}-${newId('req')}`;
    const consumer = new RedisEventConsumer(redis, REDIS_KEY_PREFIX, account, name, CLAIM_AFTER_MS);
    const cut = (): void => {
      // A read that waits for a Redis that is away would never end.
      if (redis.status !== 'ready') redis.disconnect();
    };
    this.stopping.signal.addEventListener('abort', cut);
    let tidied = false;
    while (!this.isStopping()) {
      try {
        if (!tidied) await consumer.forgetIdle(FORGOTTEN_AFTER_MS);
        tidied = true;
        const events = await consumer.take(BATCH, WAIT_MS);
        await this.dispatcher.dispatch(account, events);
        await consumer.acknowledge(events);
      } catch (error) {
        if (this.isStopping()) break;
        this.logger.error({ account, err: error }, 'events could not be dispatched; trying again');
        await pause(AFTER_FAILURE_MS, this.stopping.signal);
      }
    }
    if (redis.status === 'ready') await consumer.leave();
    await closeRedis(redis);
  }
}
