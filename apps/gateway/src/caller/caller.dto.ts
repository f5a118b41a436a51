import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { API_KEY_SCOPES, type Scope } from '#accounts';

/** Who makes the request, and what it may do. */
@ApiSchema({ name: 'Caller' })
export class CallerView {
  @ApiProperty({ example: 'default', description: 'Account of the API key or token that made the request.' })
  account!: string;
  @ApiProperty({
    example: 'key_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description:
      'Id of the API key that the caller used. If the caller used a token, id of the API key that created the token. The id is `environment` for the API key in the environment variable `API_KEY`.',
  })
  keyId!: string;
  @ApiProperty({
    type: 'string',
    nullable: true,
    example: 'Order service',
    description: 'Name of the API key, or null if the API key was revoked during the request.',
  })
  keyName!: string | null;
  @ApiProperty({
    type: 'string',
    nullable: true,
    example: null,
    description: 'Id of the token, or null for a caller with an API key or a session of the web console.',
  })
  tokenId!: string | null;
  @ApiProperty({
    enum: API_KEY_SCOPES,
    isArray: true,
    example: ['messages:send'],
    description: 'Scopes that the caller has.',
  })
  scopes!: Scope[];
  @ApiProperty({
    example: false,
    description:
      'True for an admin of the account `default`, who can manage all accounts and their API keys.',
  })
  isOperator!: boolean;
  @ApiProperty({
    type: [String],
    nullable: true,
    example: null,
    description:
      'Ids of the contacts to which the token is restricted, or null for a caller without restriction.',
  })
  contactIds!: string[] | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Time when the API key or token expires, or null if it does not expire.',
  })
  expiresAt!: string | null;
}
