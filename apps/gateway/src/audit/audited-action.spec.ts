import { expect, it } from '@jest/globals';
import { AUDITED_ACTIONS, categoryOf } from './audited-action.js';

it('only actions on accounts and API keys count towards the limit of the audit log entries about accounts and API keys', () => {
  const ofAdmins = AUDITED_ACTIONS.filter((action) => categoryOf(action) === 'admin');
  expect(new Set(ofAdmins.map((action) => action.split('.')[0]))).toEqual(new Set(['account', 'api-key']));
});

it('the audit log entries about sessions, tokens and sends, of which there are many, do not displace entries about webhooks', () => {
  const frequent = AUDITED_ACTIONS.filter((action) => categoryOf(action) === 'frequent');
  expect(frequent).toEqual([
    'session.created',
    'session.ended',
    'token.created',
    'token.revoked',
    'send.cancelled',
    'send.resolved',
  ]);
});
