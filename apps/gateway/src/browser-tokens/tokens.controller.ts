import { Body, Controller, Delete, Header, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type CreatedToken, type Principal, TOKEN_SCOPES, type TokenService } from '#accounts';
import { Audited } from '../audit/audited.js';
import { Caller } from '../auth/caller.js';
import { RequireOneScope } from '../auth/require-scope.js';
import { InputPipe } from '../input/input.pipe.js';
import { ApiProblems } from '../problems/api-problems.js';
import { notFound, Problem } from '../problems/problem.js';
import { TOKENS } from '../tokens.js';
import { CreatedTokenView, CreateTokenDto } from './tokens.dto.js';

@ApiTags('Tokens')
@Controller('v1/tokens')
export class TokensController {
  constructor(@Inject(TOKENS) private readonly tokens: TokenService) {}

  @Post()
  @RequireOneScope(TOKEN_SCOPES, 'keys-only')
  @Header('cache-control', 'no-store')
  @Audited('token.created')
  @ApiOperation({
    operationId: 'createToken',
    summary: 'Create a token for a browser',
    description:
      'Send the token in the header `Authorization: Bearer <token>`. The token stops working when it expires or is revoked, and when the API key that created the token expires or is revoked. ' +
      'An API key can give a token only scopes that the API key has. The token has a rate limit of its own, and the requests with the token also count towards the rate limit of the API key.',
  })
  @ApiCreatedResponse({ type: CreatedTokenView })
  @ApiProblems(
    'validation_failed',
    'malformed_body',
    'payload_too_large',
    'unsupported_media_type',
    'conflict',
  )
  async create(
    @Caller() caller: Principal,
    @Body(new InputPipe(CreateTokenDto)) { scopes, contactIds, expiresInSeconds }: CreateTokenDto,
  ): Promise<CreatedToken> {
    const beyond = scopes.find((scope) => !caller.scopes.has(scope));
    if (beyond !== undefined) {
      throw new Problem(
        'forbidden',
        `The API key cannot give a token the scope ${beyond}, because it does not have that scope itself.`,
      );
    }
    return await this.tokens.create(caller, {
      scopes,
      expiresInSeconds,
      ...(contactIds === undefined ? {} : { contactIds }),
    });
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireOneScope(TOKEN_SCOPES, 'keys-only')
  @Audited('token.revoked')
  @ApiOperation({
    operationId: 'deleteToken',
    summary: 'Revoke a token',
    description:
      'The token stops working immediately at every gateway. Event streams and long polls that use the token end within a second after the revocation. Any API key of the account can revoke the token.',
  })
  @ApiNoContentResponse({ description: 'The token no longer works.' })
  @ApiProblems('not_found')
  async remove(@Caller() { account }: Principal, @Param('id') id: string): Promise<void> {
    if (!(await this.tokens.revoke(account, id))) throw notFound('token', id);
  }
}
