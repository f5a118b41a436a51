import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ACCOUNT_ID, type ApiKey, type Scope, SCOPES } from '#accounts';
import { Instant, Optional, parseInstant, rule, TextOf } from '../input/rules.js';

const AccountId = (): PropertyDecorator =>
  rule(
    'accountId',
    'must be the id of an account',
    (value) => typeof value === 'string' && ACCOUNT_ID.test(value),
  );

const Scopes = (): PropertyDecorator =>
  rule(
    'scopes',
    `must be a list of different scopes of ${SCOPES.join(', ')}`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      new Set(value).size === value.length &&
      value.every((item) => (SCOPES as readonly unknown[]).includes(item)),
  );

const InFuture = (): PropertyDecorator =>
  rule('inFuture', 'must be in the future', (value) => (parseInstant(value) ?? Infinity) > Date.now());

/** The key that is asked for. */
export class CreateApiKeyDto {
  @ApiProperty({ pattern: ACCOUNT_ID.source, example: 'default' })
  @AccountId()
  account!: string;

  @ApiProperty({ minLength: 1, maxLength: 200, example: 'Order service' })
  @TextOf(1, 200)
  name!: string;

  @ApiProperty({ enum: SCOPES, isArray: true, minItems: 1, uniqueItems: true, example: ['messages:send'] })
  @Scopes()
  scopes!: Scope[];

  @ApiPropertyOptional({ format: 'date-time', description: 'Left out: it does not expire.' })
  @Optional()
  @Instant()
  @InFuture()
  expiresAt?: string;
}

export class ApiKeysQuery {
  @ApiPropertyOptional({ pattern: ACCOUNT_ID.source, description: 'Only keys of this account.' })
  @Optional()
  @AccountId()
  account?: string;
}

/** Documents an {@link ApiKey}. */
export class ApiKeyView implements ApiKey {
  @ApiProperty({
    example: 'key_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description: '`environment` for the key that the variable API_KEY holds.',
  })
  id!: string;
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({ example: 'Order service' }) name!: string;
  @ApiProperty({ enum: SCOPES, isArray: true, example: ['messages:send'] }) scopes!: Scope[];
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: "Null for the environment's key.",
  })
  createdAt!: string | null;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true, description: 'Null: never.' })
  expiresAt!: string | null;
}

export class CreatedApiKeyView extends ApiKeyView {
  @ApiProperty({
    example: 'tidings_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo',
    description: 'The key, which is shown here once and kept nowhere.',
  })
  key!: string;
}

export class ApiKeysReply {
  @ApiProperty({ type: [ApiKeyView] }) apiKeys!: ApiKeyView[];
}
