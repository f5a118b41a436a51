import { Module } from '@nestjs/common';
import { HealthModule } from '../health/health.module.js';
import { AccountStates } from './account-state.js';
import { StatusController } from './status.controller.js';

@Module({
  imports: [HealthModule],
  controllers: [StatusController],
  providers: [AccountStates],
  exports: [AccountStates],
})
export class StatusModule {}
