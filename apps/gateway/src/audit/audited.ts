import { SetMetadata } from '@nestjs/common';

export const AUDITED = 'tidings:audited';

/** What is done to keys, accounts and endpoints. */
export type AuditedAction =
  | `account.${'created' | 'changed' | 'removed' | 'deletions-confirmed'}`
  | `api-key.${'created' | 'revoked'}`
  | `webhook.${'created' | 'changed' | 'removed' | 'secret-read' | 'secret-rotated'}`;

/** The handler does this once it has answered without an error: a line of the log says who did it. */
export const Audited = (action: AuditedAction): MethodDecorator => SetMetadata(AUDITED, action);
