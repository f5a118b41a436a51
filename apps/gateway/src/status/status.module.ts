import { Module } from '@nestjs/common';
import { HealthModule } from '../health/health.module.js';
import { StatusController } from './status.controller.js';

@Module({ imports: [HealthModule], controllers: [StatusController] })
export class StatusModule {}
