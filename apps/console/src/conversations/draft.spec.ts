import { expect, it } from '@jest/globals';
import { attemptOf, draftAfter, EMPTY_DRAFT, recipientOf } from './draft.js';

const CONVERSATION = { id: 'con_1', phoneNumbers: ['+15550001', '+15550002'] };

it('a draft goes to the phone number used last until the user chooses another one, which stays after a send', () => {
  expect(recipientOf(EMPTY_DRAFT, CONVERSATION)).toBe('+15550001');
  const chosen = { ...EMPTY_DRAFT, text: 'Hello', phoneNumber: '+15550002' };
  const next = draftAfter(chosen, CONVERSATION.phoneNumbers);
  expect(next).toEqual({ ...EMPTY_DRAFT, phoneNumber: '+15550002' });
  expect(recipientOf(next, CONVERSATION)).toBe('+15550002');
});

it('a draft keeps no phone number after a send if the user did not choose it among several', () => {
  expect(draftAfter({ ...EMPTY_DRAFT, text: 'Hello' }, CONVERSATION.phoneNumbers)).toBe(EMPTY_DRAFT);
  expect(draftAfter({ ...EMPTY_DRAFT, phoneNumber: '+15550001' }, ['+15550001'])).toBe(EMPTY_DRAFT);
});

it('a draft does not go to a phone number that the conversation no longer has, except if an attempt is repeated', () => {
  const chosen = { ...EMPTY_DRAFT, text: 'Hello', phoneNumber: '+15550003' };
  expect(recipientOf(chosen, CONVERSATION)).toBe('+15550001');
  expect(recipientOf(attemptOf(chosen, '+15550003'), CONVERSATION)).toBe('+15550003');
  expect(draftAfter(chosen, CONVERSATION.phoneNumbers)).toBe(EMPTY_DRAFT);
});
