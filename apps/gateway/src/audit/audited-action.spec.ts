import { expect, it } from '@jest/globals';
import { AUDITED_ACTIONS, frequencyOf } from './audited-action.js';

it('frequent actions never displace rare ones from the audit log: only those of sessions, tokens and sends are frequent', () => {
  const frequent = AUDITED_ACTIONS.filter((action) => frequencyOf(action) === 'frequent');
  expect(frequent).toEqual([
    'session.created',
    'session.ended',
    'token.created',
    'token.revoked',
    'send.cancelled',
    'send.resolved',
  ]);
});
