import { Module } from '@nestjs/common';
import { ConversationReads } from './conversation-reads.js';
import { ConversationsController } from './conversations.controller.js';
import { TimelineController } from './timeline.controller.js';

@Module({
  controllers: [ConversationsController, TimelineController],
  providers: [ConversationReads],
  exports: [ConversationReads],
})
export class ConversationsModule {}
