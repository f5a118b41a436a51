import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { ACCOUNT_ID_PATTERN, type AuditEntry, isAuditLogPosition } from '#accounts';
import { CursorOf, Optional, TextMatching, WholeNumberText } from '../input/rules.js';
import { AUDITED_ACTIONS } from './audited-action.js';

export class AuditQuery {
  @ApiProperty({ default: 50 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '50';

  @ApiProperty({ type: 'string', description: 'The value of `next` in the previous page.' })
  @Optional()
  @CursorOf('must be the value of `next` from a previous page', (value) => positionIn(value) !== undefined)
  cursor?: string;

  @ApiProperty({
    description:
      'Account whose audit log is read; by default, the account of the caller. Only admins of the account `default` can read the audit logs of other accounts.',
  })
  @Optional()
  @TextMatching(ACCOUNT_ID_PATTERN, 'must be an account id')
  account?: string;
}

/** Documents an {@link AuditEntry}. */
@ApiSchema({ name: 'AuditEntry' })
export class AuditEntryView implements AuditEntry {
  @ApiProperty({
    example: 'aud_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description:
      'Id of the entry. An entry that is in the audit logs of two accounts has the same id in both.',
  })
  id!: string;
  @ApiProperty({ format: 'date-time', description: 'Time of the action.' }) at!: string;
  @ApiProperty({
    example: 'api-key.created',
    description: `What was done: ${AUDITED_ACTIONS.map((action) => `\`${action}\``).join(', ')}. Later versions of Tidings may add actions.`,
  })
  action!: string;
  @ApiProperty({
    type: 'string',
    nullable: true,
    example: 'key_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description:
      'Id of the account, API key, session, token, webhook or send that the action was about. Null if the entry has the field `subjects`.',
  })
  subject!: string | null;
  @ApiPropertyOptional({
    type: [String],
    description:
      'Ids of the sends that `POST /v1/sends/resolve` resolved. Only audit log entries about `POST /v1/sends/resolve` have the field `subjects`.',
  })
  subjects?: string[];
  @ApiProperty({ example: 'default', description: 'Account of the caller who did the action.' })
  account!: string;
  @ApiProperty({
    example: 'key_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description:
      'Id of the API key that the caller used. If the caller used a token or a session of the web console, id of the API key that the token or session belongs to.',
  })
  keyId!: string;
  @ApiPropertyOptional({
    example: 'tok_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description:
      'Id of the token of the caller. `tokenId` is absent if the caller used an API key or a session of the web console.',
  })
  tokenId?: string;
  @ApiProperty({
    example: 'req_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e',
    description: 'The `X-Request-Id` of the request that this audit log entry is about.',
  })
  requestId!: string;
  @ApiProperty({
    type: [String],
    example: ['account', 'name', 'scopes'],
    description:
      'Names of the fields in the request body. The values of the fields are not recorded. Empty for actions that take no fields.',
  })
  fields!: string[];
}

@ApiSchema({ name: 'AuditEntryList' })
export class AuditReply {
  @ApiProperty({ type: [AuditEntryView], description: 'The entries of the page, newest first.' })
  entries!: AuditEntryView[];
  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Cursor of the next page, or null on the last page.',
  })
  next!: string | null;
}

const LIST_NAME = 'audit/';

/** Returns the cursor of the page that begins after a position. */
export function cursorAt(position: string): string {
  return Buffer.from(LIST_NAME + position).toString('base64url');
}

/** Returns the position of a cursor of {@link cursorAt}, or undefined for any other value. */
export function positionIn(cursor: unknown): string | undefined {
  if (typeof cursor !== 'string' || cursor.length > 100) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  const position = text.startsWith(LIST_NAME) ? text.slice(LIST_NAME.length) : '';
  return isAuditLogPosition(position) ? position : undefined;
}
