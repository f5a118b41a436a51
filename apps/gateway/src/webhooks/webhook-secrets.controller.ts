import { Body, Controller, Get, Header, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { EndpointSecretManager } from '#webhooks';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound } from '../problems/problem.js';
import { ENDPOINT_SECRET_MANAGER } from '../tokens.js';
import { RotateSecretDto, RotationView, SecretView } from './secrets.dto.js';

@ApiTags('Webhooks')
@Controller('v1/webhooks')
export class WebhookSecretsController {
  constructor(
    @Inject(ENDPOINT_SECRET_MANAGER) private readonly secrets: Pick<EndpointSecretManager, 'find' | 'rotate'>,
  ) {}

  @Get(':id/secret')
  @Header('cache-control', 'no-store')
  @RequireScope('webhooks:manage')
  @Audited('webhook.secret-read')
  @ApiOperation({
    operationId: 'getWebhookSecret',
    summary: 'Get the current signing secret',
    description:
      'Verify deliveries with this signing secret. After a rotation, the previous signing secrets stay valid for at most the `overlapSeconds` of the rotation.',
  })
  @ApiOkResponse({ type: SecretView })
  @ApiProblems('not_found')
  async get(@Caller() { account }: Principal, @Param('id') id: string): Promise<SecretView> {
    const secret = await this.secrets.find(account, id);
    if (secret === undefined) throw notFound('webhook', id);
    return { secret };
  }

  @Post(':id/rotate-secret')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @RequireScope('webhooks:manage')
  @Audited('webhook.secret-rotated')
  @ApiOperation({
    operationId: 'rotateWebhookSecret',
    summary: 'Create a new signing secret',
    description:
      'After this request, Tidings signs every delivery with the new signing secret. The previous signing secrets stay valid for at most `overlapSeconds`. ' +
      'The header `webhook-signature` has one signature for each valid signing secret. A webhook has at most five valid signing secrets at a time.',
  })
  @ApiOkResponse({ type: RotationView })
  @ApiProblems('not_found', 'conflict', 'validation_failed', 'malformed_body')
  async rotate(
    @Caller() { account }: Principal,
    @Param('id') id: string,
    @Body(new InputPipe(RotateSecretDto, { mayBeAbsent: true })) { overlapSeconds }: RotateSecretDto,
  ): Promise<RotationView> {
    const rotation = await this.secrets.rotate(account, id, overlapSeconds);
    if (rotation === undefined) throw notFound('webhook', id);
    return rotation;
  }
}
