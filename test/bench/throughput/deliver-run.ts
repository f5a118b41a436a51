import { type Cost, costOf } from './cost.js';
import { EventSource } from './event-source.js';
import { Installation, pidOf } from './installation.js';
import type { Program } from './program.js';
import type { Received, ReceiverRequest } from './programs/receiver.js';

/** Number of events of the first delivery to a new webhook, whose backlog is short until it has answered once. */
const FIRST_EVENTS = 20;

/** Deliveries that were made and recorded. */
export interface Delivered {
  /** Deliveries per second, from the events in the log to the last record. */
  rate: number;
  /** What worker and Redis used for a delivery. */
  cost: Cost;
}

/** Where a run delivers. By default, the account `default` of a new installation. */
export interface DeliverPlace {
  /** Ends by itself, not with the run. */
  installation: Installation;
  account: { id: string; apiKey: string };
}

/** An account whose webhooks lead to a receiver. */
export class DeliverRun implements AsyncDisposable {
  private constructor(
    readonly installation: Installation,
    readonly source: EventSource,
    private readonly receiver: Program,
    private readonly endpoints: number,
    private readonly ownsInstallation: boolean,
  ) {}

  /**
   * Creates the webhooks of an account, each of which has received events.
   * @param settings of each webhook
   */
  static async start(
    receiver: Program,
    { endpoints, settings = {}, place }: { endpoints: number; settings?: object; place?: DeliverPlace },
  ): Promise<DeliverRun> {
    const { port } = await receiver.ask<Received>({} satisfies ReceiverRequest);
    const installation = place?.installation ?? (await Installation.start());
    const source = new EventSource(installation, place?.account);
    const run = new DeliverRun(installation, source, receiver, endpoints, place === undefined);
    try {
      await source.subscribe(endpoints, port, settings);
      await run.receive(FIRST_EVENTS * endpoints, () => source.append(FIRST_EVENTS));
      await source.allRecorded();
    } catch (error) {
      await run[Symbol.asyncDispose]();
      throw error;
    }
    return run;
  }

  /** Writes events, and waits until the receiver has each of them from each webhook and all are recorded. */
  async deliver(events: number): Promise<Delivered> {
    const { installation, source } = this;
    const expected = events * this.endpoints;
    const received = this.receiver.ask<Received>({ count: expected } satisfies ReceiverRequest);
    await source.appendThenRelease(events);
    const began = performance.now();
    let ms = Number.NaN;
    const cost = await costOf(installation.redis.client, [pidOf(installation.worker)], async () => {
      const { count } = await received;
      await source.allRecorded();
      ms = performance.now() - began;
      return count;
    });
    return { rate: expected / (ms / 1_000), cost };
  }

  /** Waits until the receiver has a number of requests that some work causes. */
  async receive(count: number, work: () => Promise<void>): Promise<Received> {
    const received = this.receiver.ask<Received>({ count } satisfies ReceiverRequest);
    await work();
    return await received;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ownsInstallation) await this.installation[Symbol.asyncDispose]();
  }
}

export function rateOf({ rate }: Delivered): number {
  return rate;
}
