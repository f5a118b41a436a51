import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { HealthModule } from '../health/health.module.js';
import { StatusModule } from '../status/status.module.js';
import { MetricsController } from './metrics.controller.js';
import { StateMetrics } from './state-metrics.js';

@Module({
  imports: [AuthModule, HealthModule, StatusModule],
  controllers: [MetricsController],
  providers: [StateMetrics],
})
export class MetricsModule {}
