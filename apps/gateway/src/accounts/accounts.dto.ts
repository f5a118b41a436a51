import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ACCOUNT_ID_PATTERN, type AccountDescription } from '#accounts';
import { Flag, MAX_URL_LENGTH, NumberOf, Optional, rule, TextMatching } from '../input/rules.js';

const MAX_KEY_LENGTH = 1_024;

const Id = (): PropertyDecorator =>
  applyDecorators(
    TextMatching(
      ACCOUNT_ID_PATTERN,
      'must have 1 to 63 characters (a-z, 0-9, _ and -) and start with a lower-case letter or a digit',
    ),
    ApiProperty({ example: 'sales' }),
  );

/** Decorator: the base address of upstream. It must not contain a password, because it is shown and logged. */
const BaseUrl = (): PropertyDecorator =>
  rule(
    'baseUrl',
    `must be an http:// or https:// URL of at most ${MAX_URL_LENGTH} characters, without user name, password, query or fragment, for example https://messages.example.com/v1`,
    (value) => {
      if (
        typeof value !== 'string' ||
        value.length > MAX_URL_LENGTH ||
        /[\s?#\\]|\p{Cc}|\p{Surrogate}/u.test(value)
      )
        return false;
      if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
      const { hostname, username, password } = new URL(value);
      return hostname !== '' && username === '' && password === '';
    },
    {
      type: 'string',
      format: 'uri',
      maxLength: MAX_URL_LENGTH,
      example: 'https://messages.example.com/v1',
      description: 'Base address of the messaging service, including `/v1`.',
    },
  );

const VISIBLE_ASCII = /^[!-~]+$/;

/** Decorator: an API key of upstream, which is sent in an HTTP header. */
const UpstreamKey = (): PropertyDecorator =>
  rule(
    'upstreamKey',
    `must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters`,
    (value) => typeof value === 'string' && value.length <= MAX_KEY_LENGTH && VISIBLE_ASCII.test(value),
    {
      type: 'string',
      pattern: VISIBLE_ASCII.source,
      minLength: 1,
      maxLength: MAX_KEY_LENGTH,
      example: 'the-key-of-this-account',
      description:
        'API key of the account at the messaging service. The key is stored encrypted and never shown.',
    },
  );

const RATE = 'Maximum number of requests per second to the messaging service, over all processes.';
const Rate = (): PropertyDecorator =>
  applyDecorators(NumberOf(0.01, 10_000), ApiProperty({ example: 10, description: RATE }));

const Polling = (): PropertyDecorator =>
  applyDecorators(
    Flag(),
    ApiProperty({
      description: 'True if Tidings polls the contacts and messages of the account and emits events.',
    }),
  );

/** Request to add an account of the messaging service. */
@ApiSchema({ name: 'NewAccount' })
export class CreateAccountDto {
  @Id()
  id!: string;

  @BaseUrl()
  baseUrl!: string;

  @UpstreamKey()
  apiKey!: string;

  @ApiProperty({
    description: `${RATE} The default is the value of \`UPSTREAM_REQUESTS_PER_SECOND\` at the gateway.`,
  })
  @Optional()
  @Rate()
  requestsPerSecond?: number;

  @ApiProperty({ default: true })
  @Optional()
  @Polling()
  polling: boolean = true;
}

/** Request to update an account. Fields that are not given stay unchanged. */
@ApiSchema({ name: 'AccountChanges' })
export class ChangeAccountDto {
  @Optional()
  @BaseUrl()
  baseUrl?: string;

  @Optional()
  @UpstreamKey()
  apiKey?: string;

  @Optional()
  @Rate()
  requestsPerSecond?: number;

  @Optional()
  @Polling()
  polling?: boolean;
}

/** Documents an {@link AccountDescription}. */
@ApiSchema({ name: 'Account' })
export class AccountView implements AccountDescription {
  @ApiProperty({ pattern: ACCOUNT_ID_PATTERN.source, example: 'sales' }) id!: string;
  @ApiProperty({ format: 'uri', example: 'https://messages.example.com/v1' }) baseUrl!: string;
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
    description:
      'Time when the account was created. Null if the settings of the account come from environment variables.',
  })
  createdAt!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Time when the account was last changed. Null if the settings of the account come from environment variables.',
  })
  updatedAt!: string | null;
}

@ApiSchema({ name: 'AccountList' })
export class AccountsReply {
  @ApiProperty({ type: [AccountView] }) accounts!: AccountView[];
}
