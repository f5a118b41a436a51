import { Module } from '@nestjs/common';
import { TimelineController } from './timeline.controller.js';

@Module({ controllers: [TimelineController] })
export class ConversationsModule {}
