import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ACCOUNT_ID, type AccountDescription } from '#accounts';
import { Flag, NumberOf, Optional, rule } from '../input/rules.js';

const LONGEST_KEY = 1_024;

const Id = (): PropertyDecorator =>
  rule(
    'accountId',
    'must be 1 to 63 of the characters a-z 0-9 _ -, the first of them a letter or digit',
    (value) => typeof value === 'string' && ACCOUNT_ID.test(value),
  );

/** It is shown and logged, so that it must not hold a password. */
const BaseUrl = (): PropertyDecorator =>
  rule(
    'baseUrl',
    'must be an http:// or https:// address of at most 2048 characters, without user, query and fragment, for example https://messages.example.com/v1',
    (value) => {
      if (typeof value !== 'string' || value.length > 2048 || /[\s?#\\]|\p{Cc}|\p{Surrogate}/u.test(value))
        return false;
      if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
      const { hostname, username, password } = new URL(value);
      return hostname !== '' && username === '' && password === '';
    },
  );

/** It travels in a header. */
const UpstreamKey = (): PropertyDecorator =>
  rule(
    'upstreamKey',
    `must be 1 to ${LONGEST_KEY} visible ASCII characters`,
    (value) => typeof value === 'string' && value.length <= LONGEST_KEY && /^[\x21-\x7e]+$/.test(value),
  );

const Rate = (): PropertyDecorator => NumberOf(0.01, 10_000);

const DOCS = {
  id: { pattern: ACCOUNT_ID.source, example: 'sales' },
  baseUrl: {
    format: 'uri',
    maxLength: 2048,
    example: 'https://messages.example.com/v1',
    description: "Upstream's base address, `/v1` included.",
  },
  apiKey: {
    minLength: 1,
    maxLength: LONGEST_KEY,
    example: 'the-key-of-this-account',
    description: "Upstream's key. Kept encrypted, and never shown.",
  },
  requestsPerSecond: {
    type: 'number',
    minimum: 0.01,
    maximum: 10_000,
    example: 10,
    description: 'The budget of requests to upstream, over all processes.',
  },
  polling: { description: 'Whether contacts and messages are read for events.' },
} as const;

/** A further account at upstream. */
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
    description: `${DOCS.requestsPerSecond.description} Where it is not given, what the gateway's \`UPSTREAM_REQUESTS_PER_SECOND\` says at that moment.`,
  })
  @Optional()
  @Rate()
  requestsPerSecond?: number;

  @ApiPropertyOptional({ ...DOCS.polling, default: true })
  @Optional()
  @Flag()
  polling: boolean = true;
}

/** What is to be changed. */
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
  @ApiProperty({ enum: ['environment', 'api'], description: 'Described by variables, or through the API.' })
  source!: AccountDescription['source'];
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Null for the account of the environment.',
  })
  createdAt!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Null for the account of the environment.',
  })
  updatedAt!: string | null;
}

export class AccountsReply {
  @ApiProperty({ type: [AccountView] }) accounts!: AccountView[];
}
