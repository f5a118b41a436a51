import { getQueueToken, Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import type { WorkerCore } from '../compose.js';
import { registerQueue, ROUNDS_OPTIONS } from '../queue.js';
import { RoundsProcessor } from '../rounds.processor.js';
import { CORE, DISPATCH } from '../tokens.js';
import { composeDispatch, type DispatchRole } from './compose-dispatch.js';
import { DeliveriesProcessor } from './deliveries.processor.js';

/** Time that running delivery attempts get to finish when the worker stops, in milliseconds. */
const DRAIN_MS = 12_000;

@Processor('dispatch-ticks', ROUNDS_OPTIONS)
class DispatchRoundsProcessor extends RoundsProcessor {
  constructor(@Inject(DISPATCH) { rounds }: DispatchRole) {
    super(rounds);
  }
}

/**
 * The role `dispatch`: creates a delivery per event and endpoint, and sends the deliveries to the endpoints.
 */
@Module({
  imports: [registerQueue('deliveries'), registerQueue('dispatch-ticks')],
  providers: [
    DeliveriesProcessor,
    DispatchRoundsProcessor,
    {
      provide: DISPATCH,
      inject: [CORE, getQueueToken('deliveries'), getQueueToken('dispatch-ticks')],
      useFactory: composeDispatch,
    },
  ],
})
export class DispatchModule implements OnModuleDestroy, BeforeApplicationShutdown {
  private stopped: Promise<void> = Promise.resolve();

  constructor(
    @Inject(CORE) { watch }: WorkerCore,
    @Inject(DISPATCH) private readonly role: DispatchRole,
  ) {
    watch.follow(role.rounds);
    watch.follow(role.dispatch);
  }

  /**
   * Starts stopping without waiting, so that the other roles are stopped at the same time. {@link
   * beforeApplicationShutdown} waits for the end.
   */
  onModuleDestroy(): void {
    this.stopped = this.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.stopped;
  }

  private async stop(): Promise<void> {
    await this.role.dispatch.stop();
    await this.role.deliveries.drain(DRAIN_MS);
  }
}
