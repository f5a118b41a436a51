import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { RedisReadiness } from './redis-readiness.js';

@Module({ controllers: [HealthController], providers: [RedisReadiness], exports: [RedisReadiness] })
export class HealthModule {}
