import { getQueueToken } from '@nestjs/bullmq';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Module,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { WorkerCore } from '../compose.js';
import { registerQueue } from '../queue.js';
import { RoundsLifecycle } from '../rounds-lifecycle.js';
import { CORE, DISPATCH } from '../tokens.js';
import { composeDispatch, type DispatchRole } from './compose-dispatch.js';
import { DeliveriesProcessor } from './deliveries.processor.js';

/** Time that running delivery attempts get to finish when the worker stops, in milliseconds. */
const DRAIN_MS = 12_000;

@Injectable()
class DispatchRounds extends RoundsLifecycle {
  constructor(@Inject(DISPATCH) { rounds }: DispatchRole) {
    super(rounds);
  }
}

/**
 * The role `dispatch`: creates a delivery per event and endpoint, and sends the deliveries to the endpoints.
 */
@Module({
  imports: [registerQueue('deliveries')],
  providers: [
    DeliveriesProcessor,
    DispatchRounds,
    {
      provide: DISPATCH,
      inject: [CORE, getQueueToken('deliveries')],
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
    watch.follow(role.reader);
    watch.follow({
      removed: (account) => {
        role.recent.forget(account);
      },
    });
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
    await this.role.reader.stop();
    await this.role.deliveries.drain(DRAIN_MS);
  }
}
