import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { ConversationChanges } from '#conversations';
import type { EventLogNotifier } from '#events';
import { AuthModule } from '../auth/auth.module.js';
import { ConversationsModule } from '../conversations/conversations.module.js';
import { CONVERSATION_CHANGES, EVENT_LOG_NOTIFIER } from '../tokens.js';
import { EventReads } from './event-reads.js';
import { EventStreams } from './event-streams.js';
import { EventsController } from './events.controller.js';
import { LiveChanges } from './live-changes.js';
import { SharedLogs } from './shared-logs.js';
import { WaitingSlots } from './waiting-slots.js';

@Module({
  imports: [AuthModule, ConversationsModule],
  controllers: [EventsController],
  providers: [EventReads, EventStreams, LiveChanges, SharedLogs, WaitingSlots],
})
export class EventsModule implements OnApplicationShutdown {
  constructor(
    @Inject(EVENT_LOG_NOTIFIER) private readonly notifier: EventLogNotifier,
    @Inject(CONVERSATION_CHANGES) private readonly changes: ConversationChanges,
  ) {}

  /** Closes the subscriptions. At this time every request has ended. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.notifier.close(), this.changes.close()]);
  }
}
