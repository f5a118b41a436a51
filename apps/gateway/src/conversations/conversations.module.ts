import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ConversationReads } from './conversation-reads.js';
import { ConversationsController } from './conversations.controller.js';
import { TimelineController } from './timeline.controller.js';

@Module({
  imports: [AuthModule],
  controllers: [ConversationsController, TimelineController],
  providers: [ConversationReads],
  exports: [ConversationReads],
})
export class ConversationsModule {}
