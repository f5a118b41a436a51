import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ACCOUNT_ID_PATTERN, type AccountDescription } from '#accounts';
import { Flag, NumberOf, Optional, rule } from '../input/rules.js';

const MAX_KEY_LENGTH = 1_024;

const Id = (): PropertyDecorator =>
  rule(
    'accountId',
    'must be 1 to 63 characters of a-z, 0-9, _ and -, and must start with a letter or digit',
    (value) => typeof value === 'string' && ACCOUNT_ID_PATTERN.test(value),
  );

/** Decorator: the base address of upstream. It must not contain a password, because it is shown and logged. */
const BaseUrl = (): PropertyDecorator =>
  rule(
    'baseUrl',
    'must be an http:// or https:// URL of at most 2048 characters without user, query and fragment, for example https://messages.example.com/v1',
    (value) => {
      if (typeof value !== 'string' || value.length > 2048 || /[\s?#\\]|\p{Cc}|\p{Surrogate}/u.test(value))
        return false;
      if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
      const { hostname, username, password } = new URL(value);
      return hostname !== '' && username === '' && password === '';
    },
  );

/** Decorator: an API key of upstream, which is sent in an HTTP header. */
const UpstreamKey = (): PropertyDecorator =>
  rule(
    'upstreamKey',
    `must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters`,
    (value) => typeof value === 'string' && value.length <= MAX_KEY_LENGTH && /^[\x21-\x7e]+$/.test(value),
  );

const Rate = (): PropertyDecorator => NumberOf(0.01, 10_000);

const DOCS = {
  id: { pattern: ACCOUNT_ID_PATTERN.source, example: 'sales' },
  baseUrl: {
    format: 'uri',
    maxLength: 2048,
    example: 'https://messages.example.com/v1',
    description: 'Base address of the messaging service, including `/v1`.',
  },
  apiKey: {
    minLength: 1,
    maxLength: MAX_KEY_LENGTH,
    example: 'the-key-of-this-account',
    description:
      'API key of the account at the messaging service. The key is stored encrypted and never shown.',
  },
  requestsPerSecond: {
    type: 'number',
    minimum: 0.01,
    maximum: 10_000,
    example: 10,
    description: 'Maximum number of requests per second to the messaging service, over all processes.',
  },
  polling: {
    description: 'True if Tidings polls the contacts and messages of the account and emits events.',
  },
} as const;

/** Request to add an account of the messaging service. */
export class CreateAccountDto {
  @ApiProperty(DOCS.id)
  @Id()
  id!: string;

  @ApiProperty(DOCS.baseUrl)
  @BaseUrl()
  baseUrl!: string;

  @ApiProperty(DOCS.apiKey)
  @UpstreamKey()
  apiKey!: string;

  @ApiPropertyOptional({
    ...DOCS.requestsPerSecond,
    description: `${DOCS.requestsPerSecond.description} The default is the value of \`UPSTREAM_REQUESTS_PER_SECOND\` at the gateway.`,
  })
  @Optional()
  @Rate()
  requestsPerSecond?: number;

  @ApiPropertyOptional({ ...DOCS.polling, default: true })
  @Optional()
  @Flag()
  polling: boolean = true;
}

/** Request to update an account. Fields that are not given stay unchanged. */
export class ChangeAccountDto {
  @ApiPropertyOptional(DOCS.baseUrl)
  @Optional()
  @BaseUrl()
  baseUrl?: string;

  @ApiPropertyOptional(DOCS.apiKey)
  @Optional()
  @UpstreamKey()
  apiKey?: string;

  @ApiPropertyOptional(DOCS.requestsPerSecond)
  @Optional()
  @Rate()
  requestsPerSecond?: number;

  @ApiPropertyOptional(DOCS.polling)
  @Optional()
  @Flag()
  polling?: boolean;
}

/** Documents an {@link AccountDescription}. */
export class AccountView implements AccountDescription {
  @ApiProperty(DOCS.id) id!: string;
  @ApiProperty({ format: 'uri', example: DOCS.baseUrl.example }) baseUrl!: string;
  @ApiProperty({ type: 'number', example: 10 }) requestsPerSecond!: number;
  @ApiProperty() polling!: boolean;
  @ApiProperty({
    enum: ['environment', 'api'],
    description: 'Origin of the account settings: environment variables or this API.',
  })
  source!: AccountDescription['source'];
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Null if the account settings come from environment variables.',
  })
  createdAt!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Null if the account settings come from environment variables.',
  })
  updatedAt!: string | null;
}

export class AccountsReply {
  @ApiProperty({ type: [AccountView] }) accounts!: AccountView[];
}
