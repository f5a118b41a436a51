import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { Readiness } from '#platform';
import {
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  ApiResponse,
  ApiSecurity,
  ApiTags,
  ApiSchema,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/require-scope.js';
import { ApiPublicProblems } from '../problems/api-problems.js';
import { RedisReadiness } from './redis-readiness.js';
import { ReadyView } from './ready.view.js';

@ApiSchema({ name: 'Liveness' })
class LiveView {
  @ApiProperty({ enum: ['ok'] }) status!: 'ok';
}

@ApiTags('Health')
@ApiSecurity({})
@Controller('health')
export class HealthController {
  constructor(@Inject(RedisReadiness) private readonly readiness: RedisReadiness) {}

  @Get('live')
  @Public()
  @ApiOperation({
    operationId: 'getLiveness',
    summary: 'Check that the process is running',
    description: 'The check of `/health/live` does not depend on Redis.',
  })
  @ApiOkResponse({ type: LiveView })
  @ApiPublicProblems()
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @Public()
  @ApiOperation({
    operationId: 'getReadiness',
    summary: 'Check that the gateway can store sends',
    description:
      'The HTTP status is 200 while sends can be stored. If sends can be stored but something else is wrong, the field `status` is `degraded`. Each text in `reasons` contains a remedy.',
  })
  @ApiOkResponse({ type: ReadyView })
  @ApiResponse({
    status: 503,
    type: ReadyView,
    description: 'The gateway cannot write to Redis or is stopping.',
  })
  @ApiPublicProblems()
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<Readiness> {
    const readiness = await this.readiness.check();
    reply.header('cache-control', 'no-store');
    if (readiness.status === 'unavailable') reply.code(503);
    return readiness;
  }
}
