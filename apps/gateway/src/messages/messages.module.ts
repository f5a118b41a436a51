import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { HealthModule } from '../health/health.module.js';
import { MessagesController } from './messages.controller.js';
import { SendAcceptance } from './send-acceptance.js';

@Module({
  imports: [AuthModule, HealthModule],
  controllers: [MessagesController],
  providers: [SendAcceptance],
})
export class MessagesModule {}
