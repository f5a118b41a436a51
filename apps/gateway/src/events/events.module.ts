import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { EventTail } from '#events';
import { AuthModule } from '../auth/auth.module.js';
import { EVENT_TAIL } from '../tokens.js';
import { EventReads } from './event-reads.js';
import { EventStreams } from './event-streams.js';
import { EventsController } from './events.controller.js';
import { SharedLogs } from './shared-log.js';
import { WaitingSlots } from './waiting-slots.js';

@Module({
  imports: [AuthModule],
  controllers: [EventsController],
  providers: [EventReads, EventStreams, SharedLogs, WaitingSlots],
})
export class EventsModule implements OnApplicationShutdown {
  constructor(@Inject(EVENT_TAIL) private readonly tail: EventTail) {}

  /** Closes the event tail. At this time every request has ended. */
  async onApplicationShutdown(): Promise<void> {
    await this.tail.close();
  }
}
