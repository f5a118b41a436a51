import { SetMetadata } from '@nestjs/common';

export const AUDITED = 'tidings:audited';

/** Actions on accounts, API keys, tokens and webhooks that the audit log records. */
export type AuditedAction =
  | `account.${'created' | 'changed' | 'removed' | 'deletions-confirmed'}`
  | `api-key.${'created' | 'revoked'}`
  | `token.${'created' | 'revoked'}`
  | `webhook.${'created' | 'changed' | 'removed' | 'secret-read' | 'secret-rotated'}`;

/** Declares the action of a handler. The audit log records it when the handler succeeds. */
export const Audited = (action: AuditedAction): MethodDecorator => SetMetadata(AUDITED, action);
