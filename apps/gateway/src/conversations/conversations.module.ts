import { Module } from '@nestjs/common';
import { ConversationReads } from './conversation-reads.js';
import { ConversationsController } from './conversations.controller.js';

@Module({
  controllers: [ConversationsController],
  providers: [ConversationReads],
  exports: [ConversationReads],
})
export class ConversationsModule {}
