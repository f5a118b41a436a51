import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { LoggedEvent } from '#events';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver } from './receiver.js';
import { ACCOUNT, Street } from './street.js';

/** A street for each test of a file, and receivers that end with it. */
export class WithStreet {
  private server: TestRedis | undefined;
  private opened: Street | undefined;
  private readonly receivers: Receiver[] = [];

  /** @param hintsLost whether nothing is delivered but by the test's own hand */
  constructor({ hintsLost = false } = {}) {
    beforeAll(async () => {
      this.server = await startTestRedis();
    });
    afterAll(async () => {
      await this.server?.dispose();
    });
    beforeEach(async () => {
      this.opened = await Street.open(this.server?.url ?? '');
      this.opened.jobs.lost = hintsLost;
    });
    afterEach(async () => {
      await this.opened?.close();
      await Promise.all(this.receivers.splice(0).map((receiver) => receiver.stop()));
    });
  }

  get street(): Street {
    if (this.opened === undefined) throw new Error('There is a street only within a test.');
    return this.opened;
  }

  readonly receiver = async (answer?: Receiver['answer']): Promise<Receiver> => {
    const receiver = await Receiver.start(answer);
    this.receivers.push(receiver);
    return receiver;
  };

  /** Records events and makes their deliveries. */
  readonly dispatched = async (count: number): Promise<LoggedEvent[]> => {
    const events = await this.street.record(count);
    await this.street.dispatcher.dispatch(ACCOUNT, events);
    return events;
  };
}
