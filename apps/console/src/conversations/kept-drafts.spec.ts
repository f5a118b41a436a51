import { expect, it } from '@jest/globals';
import { type Draft, draftAfter, EMPTY_DRAFT } from './draft.js';
import { KeptDrafts } from './kept-drafts.js';

const draft = (text: string): Draft => ({ ...EMPTY_DRAFT, text, key: `key of ${text}` });

it('an API key does not get the drafts of another API key', () => {
  const kept = new KeptDrafts();
  kept.keep('key_1', 'con_1', draft('Hello'));
  expect(kept.of('key_2', 'con_1')).toBe(EMPTY_DRAFT);
});

it('a sign-out drops the drafts of its API key only', () => {
  const kept = new KeptDrafts();
  for (const id of ['key_1', 'key_11']) kept.keep(id, 'con_1', draft('Hello'));
  kept.forget('key_1');
  expect(kept.of('key_1', 'con_1')).toBe(EMPTY_DRAFT);
  expect(kept.of('key_11', 'con_1')).toEqual(draft('Hello'));
});

it('above 100 drafts, the one unchanged for longest is dropped', () => {
  const kept = new KeptDrafts();
  for (let i = 0; i < 100; i += 1) kept.keep(`key_${i % 2}`, `con_${i}`, draft('Hello'));
  kept.keep('key_0', 'con_0', draft('Changed'));
  kept.keep('key_0', 'con_100', draft('Hello'));
  expect(kept.of('key_0', 'con_0')).toEqual(draft('Changed'));
  expect(kept.of('key_1', 'con_1')).toBe(EMPTY_DRAFT);
});

it('a draft to a phone number moves to the conversation of its contact, and still goes to this number', () => {
  const kept = new KeptDrafts();
  kept.keep('key_1', '+15550001', draft('Hello'));
  kept.move('key_1', '+15550001', 'con_1');
  expect(kept.of('key_1', 'con_1')).toEqual({ ...draft('Hello'), phoneNumber: '+15550001' });
  expect(kept.of('key_1', '+15550001')).toBe(EMPTY_DRAFT);
});

it('if a phone number and its contact both have a draft, the one changed last is shown, and the other one after the next send', () => {
  for (const order of [
    ['+15550001', 'con_1'],
    ['con_1', '+15550001'],
  ]) {
    const kept = new KeptDrafts();
    for (const id of order) kept.keep('key_1', id, draft(`To ${id}`));
    const shown = (): string => {
      kept.move('key_1', '+15550001', 'con_1');
      kept.move('key_1', '+15550001', 'con_1');
      return kept.of('key_1', 'con_1').text;
    };
    expect(shown()).toBe(`To ${order[1] ?? ''}`);
    kept.keep('key_1', 'con_1', draftAfter(kept.of('key_1', 'con_1'), ['+15550001', '+15550002']));
    expect(shown()).toBe(`To ${order[0] ?? ''}`);
  }
});
