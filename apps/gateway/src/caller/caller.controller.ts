import { Controller, Get, Header, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { API_KEY_SCOPES, type ApiKeyRegistry, type Principal } from '#accounts';
import { Caller } from '../auth/caller.js';
import { isOperator } from '../auth/operator.js';
import { RequireOneScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { API_KEY_REGISTRY } from '../tokens.js';
import { CallerView } from './caller.dto.js';

@ApiTags('Caller')
@Controller('v1/caller')
export class CallerController {
  constructor(@Inject(API_KEY_REGISTRY) private readonly keys: Pick<ApiKeyRegistry, 'find'>) {}

  @Get()
  @RequireOneScope(API_KEY_SCOPES, 'filtered')
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'getCaller',
    summary: 'Get the account and the permissions of the caller',
    description:
      'Returns the account, the scopes and the expiry time of the API key or token that made the request. The API key or token needs at least one scope; any scope is sufficient.',
  })
  @ApiOkResponse({ type: CallerView })
  @ApiProblems()
  async get(@Caller() caller: Principal): Promise<CallerView> {
    const { account, keyId, tokenId = null, scopes, contactIds, expiresAt } = caller;
    const key = await this.keys.find(keyId);
    return {
      ...{ account, keyId, keyName: key?.name ?? null, tokenId },
      scopes: API_KEY_SCOPES.filter((scope) => scopes.has(scope)),
      isOperator: isOperator(caller),
      contactIds: contactIds === undefined ? null : [...contactIds],
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    };
  }
}
