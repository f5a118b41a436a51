import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type CreatedToken, MAX_TOKEN_LIFETIME_SECONDS, TOKEN_SCOPES, type TokenScope } from '#accounts';
import { hasUnstorable, Optional, rule, WholeNumber } from '../input/rules.js';

const MAX_CONTACTS = 100;
/** Maximum length of a contact id, in characters. */
const MAX_ID_LENGTH = 512;
/** Maximum size of all contact ids of a token, in bytes. Each request with the token reads them. */
const MAX_IDS_BYTES = 16_384;

const DEFAULT_LIFETIME_SECONDS = 900;

const Scopes = (): PropertyDecorator =>
  rule(
    'scopes',
    `must be a non-empty list of scopes without repetition; a token may have the scopes ${TOKEN_SCOPES.join(', ')}`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      new Set(value).size === value.length &&
      value.every((item) => (TOKEN_SCOPES as readonly unknown[]).includes(item)),
    { enum: TOKEN_SCOPES, isArray: true, minItems: 1, uniqueItems: true },
  );

const ContactIds = (): PropertyDecorator =>
  rule(
    'contactIds',
    `must be a list of 1 to ${MAX_CONTACTS} contact ids with at most ${MAX_IDS_BYTES} bytes in total; omit the field for a token without restriction`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= MAX_CONTACTS &&
      value.every(isContactId) &&
      Buffer.byteLength(value.join('')) <= MAX_IDS_BYTES,
    {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH },
      minItems: 1,
      maxItems: MAX_CONTACTS,
    },
  );

/** Request to create a token. */
@ApiSchema({ name: 'NewToken' })
export class CreateTokenDto {
  @ApiProperty({
    description: 'Scopes of the token. The API key that creates the token must have all scopes of the token.',
    example: ['messages:read', 'events:read'],
  })
  @Scopes()
  scopes!: TokenScope[];

  @ApiProperty({
    description:
      'Ids of the contacts whose messages, events and sends the token can access, and to whose phone numbers the token can send. By default, the token gives access to all contacts of the account.',
    example: ['c_1'],
  })
  @Optional()
  @ContactIds()
  contactIds?: string[];

  @ApiProperty({
    description:
      'Time until the token expires, in seconds. If the API key that creates the token expires earlier, the token expires together with the API key.',
    default: DEFAULT_LIFETIME_SECONDS,
  })
  @Optional()
  @WholeNumber(1, MAX_TOKEN_LIFETIME_SECONDS)
  expiresInSeconds: number = DEFAULT_LIFETIME_SECONDS;
}

/** Documents a {@link CreatedToken}. */
@ApiSchema({ name: 'CreatedToken' })
export class CreatedTokenView implements CreatedToken {
  @ApiProperty({
    example: 'tok_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description: 'Id of the token. The token can be revoked by its id. The id of a token is not secret.',
  })
  id!: string;
  @ApiProperty({
    example: 'tt_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo',
    description:
      'The secret value of the token. Only this response shows the token; Tidings stores only a hash of the token.',
  })
  token!: string;
  @ApiProperty({ format: 'date-time', description: 'Time when the token expires.' })
  expiresAt!: string;
}

function isContactId(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length >= 1 && value.length <= MAX_ID_LENGTH && !hasUnstorable(value)
  );
}
