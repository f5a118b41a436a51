import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ACCOUNT_ID_PATTERN, type ListedApiKey, type Scope, API_KEY_SCOPES } from '#accounts';
import { Instant, Optional, rule, TextMatching, TextOf } from '../input/rules.js';

const AccountId = (): PropertyDecorator => TextMatching(ACCOUNT_ID_PATTERN, 'must be an account id');

const Scopes = (): PropertyDecorator =>
  rule(
    'scopes',
    `must be a non-empty list of scopes without repetition; valid scopes are ${API_KEY_SCOPES.join(', ')}`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      new Set(value).size === value.length &&
      value.every((item) => (API_KEY_SCOPES as readonly unknown[]).includes(item)),
    { enum: API_KEY_SCOPES, isArray: true, minItems: 1, uniqueItems: true },
  );

/** Request to create an API key. */
@ApiSchema({ name: 'NewApiKey' })
export class CreateApiKeyDto {
  @ApiProperty({ example: 'default' })
  @AccountId()
  account!: string;

  @ApiProperty({ example: 'Order service' })
  @TextOf(200)
  name!: string;

  @ApiProperty({ example: ['messages:send'] })
  @Scopes()
  scopes!: Scope[];

  @ApiProperty({
    description: 'Time when the API key expires. By default, the API key does not expire.',
  })
  @Optional()
  @Instant()
  expiresAt?: string;
}

export class ApiKeysQuery {
  @ApiProperty({
    description: 'Returns only the API keys of this account.',
  })
  @Optional()
  @AccountId()
  account?: string;
}

/** Documents a {@link ListedApiKey}. */
@ApiSchema({ name: 'ApiKey' })
export class ApiKeyView implements ListedApiKey {
  @ApiProperty({
    example: 'key_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description:
      'Id of the API key. The id is `environment` for the API key in the environment variable `API_KEY`.',
  })
  id!: string;
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({ example: 'Order service' }) name!: string;
  @ApiProperty({ enum: API_KEY_SCOPES, isArray: true, example: ['messages:send'] }) scopes!: Scope[];
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Creation time, or null for the API key in the environment variable `API_KEY`.',
  })
  createdAt!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Time when the API key expires, or null if the API key does not expire.',
  })
  expiresAt!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Time when the API key or one of its tokens was last used, or null if no use was recorded. `lastUsedAt` may be up to a minute out of date.',
  })
  lastUsedAt!: string | null;
}

@ApiSchema({ name: 'CreatedApiKey' })
export class CreatedApiKeyView extends ApiKeyView {
  @ApiProperty({
    example: 'tidings_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo',
    description:
      'The secret value of the API key. Only this response shows the value; Tidings stores only a hash of the value.',
  })
  key!: string;
}

@ApiSchema({ name: 'ApiKeyList' })
export class ApiKeysReply {
  @ApiProperty({ type: [ApiKeyView] }) apiKeys!: ApiKeyView[];
}
