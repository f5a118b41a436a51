import type { AuditCategory } from '#accounts';

/** Actions that the audit log records. */
export const AUDITED_ACTIONS = [
  'account.created',
  'account.changed',
  'account.removed',
  'account.deletions-confirmed',
  'api-key.created',
  'api-key.revoked',
  'session.created',
  'session.ended',
  'token.created',
  'token.revoked',
  'webhook.created',
  'webhook.changed',
  'webhook.removed',
  'webhook.secret-read',
  'webhook.secret-rotated',
  'webhook.replayed',
  'send.cancelled',
  'send.resolved',
] as const;

export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/**
 * Actions whose request body was validated. The field names of any other body are unchecked and must not be recorded.
 */
const HAS_FIELDS = /[.-](created|changed|rotated|replayed|resolved)$/;

export function hasCheckedFields(action: AuditedAction): boolean {
  return HAS_FIELDS.test(action);
}

/**
 * Returns the category of an action. Actions on tokens, sends and sessions are `frequent`, because programs create
 * tokens and cancel sends all the time, and people often sign in.
 */
export function categoryOf(action: AuditedAction): AuditCategory {
  if (action.startsWith('webhook.')) return 'webhook';
  return /^(session|token|send)\./.test(action) ? 'frequent' : 'admin';
}
