import { getQueueToken } from '@nestjs/bullmq';
import { Inject, Injectable, Module } from '@nestjs/common';
import type { WorkerCore } from '../compose.js';
import { registerQueue } from '../queue.js';
import { RemovalModule } from '../removal/removal.module.js';
import { RoundsLifecycle } from '../rounds-lifecycle.js';
import { CORE, RELAY } from '../tokens.js';
import { composeRelay, type RelayRole } from './compose-relay.js';
import { RelayProcessor } from './relay.processor.js';
import { SendSchedule } from './send-schedule.js';

@Injectable()
class RelayRounds extends RoundsLifecycle {
  constructor(@Inject(RELAY) { rounds }: RelayRole) {
    super(rounds);
  }
}

/**
 * The role `relay`: sends the queued messages to upstream and tracks each send to its final state. Also removes the data
 * of removed accounts, because only this role checks that the blob store is shared with the gateways.
 */
@Module({
  imports: [registerQueue('relay'), RemovalModule],
  providers: [
    RelayProcessor,
    RelayRounds,
    {
      provide: RELAY,
      inject: [CORE, getQueueToken('relay')],
      useFactory: composeRelay,
    },
    // This is a provider of its own, because Nest starts and stops only providers.
    { provide: SendSchedule, inject: [RELAY], useFactory: ({ sendSchedule }: RelayRole) => sendSchedule },
  ],
})
export class RelayModule {
  constructor(@Inject(CORE) { watch }: WorkerCore, @Inject(RELAY) { rounds, lanes }: RelayRole) {
    watch.follow(rounds);
    watch.follow({
      removed: (account) => {
        lanes.forget(account);
      },
    });
  }
}
