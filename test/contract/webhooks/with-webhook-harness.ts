import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { LoggedEvent } from '#events';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver } from './receiver.js';
import { ACCOUNT, WebhookHarness } from './webhook-harness.js';

/** Opens a harness for each test of a file. Closes the harness and its receivers after the test. */
export class WithWebhookHarness {
  private server: TestRedis | undefined;
  private opened: WebhookHarness | undefined;
  private readonly receivers: Receiver[] = [];

  /** @param hintsLost true to drop hints, so that only the test itself claims deliveries */
  constructor({ hintsLost = false } = {}) {
    beforeAll(async () => {
      this.server = await startTestRedis();
    });
    afterAll(async () => {
      await this.server?.dispose();
    });
    beforeEach(async () => {
      this.opened = await WebhookHarness.open(this.server?.url ?? '');
      this.opened.jobs.lost = hintsLost;
    });
    afterEach(async () => {
      await this.opened?.close();
      await Promise.all(this.receivers.splice(0).map((receiver) => receiver.stop()));
    });
  }

  get harness(): WebhookHarness {
    if (this.opened === undefined) throw new Error('The harness exists only during a test.');
    return this.opened;
  }

  /** Starts a receiver, which stops after the test. */
  readonly receiver = async (answer?: Receiver['answer']): Promise<Receiver> => {
    const receiver = await Receiver.start(answer);
    this.receivers.push(receiver);
    return receiver;
  };

  /** Records events, creates their deliveries, and marks the log as dispatched. */
  readonly dispatched = async (count: number): Promise<LoggedEvent[]> => {
    const events = await this.harness.record(count);
    await this.harness.dispatcher.dispatch(ACCOUNT, events);
    await this.harness.markDispatched();
    return events;
  };
}
