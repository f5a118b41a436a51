import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { HealthModule } from '../health/health.module.js';
import { MessagesController } from './messages.controller.js';
import { SendAcceptance } from './send-acceptance.js';
import { UploadSlots } from './upload-slots.js';

@Module({
  imports: [AuthModule, HealthModule],
  controllers: [MessagesController],
  providers: [SendAcceptance, UploadSlots],
})
export class MessagesModule {}
