import { expect, it } from '@jest/globals';
import { AUDITED_ACTIONS, categoryOf } from './audited-action.js';

it('only actions that need the scope admin count towards the limit of the entries about admins', () => {
  const ofAdmins = AUDITED_ACTIONS.filter((action) => categoryOf(action) === 'admin');
  expect(new Set(ofAdmins.map((action) => action.split('.')[0]))).toEqual(new Set(['account', 'api-key']));
});

it('the actions on sessions, tokens and sends, which programs do often, do not displace those on webhooks', () => {
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
