import { expect, it } from '@jest/globals';
import { type Toast, withToast } from './toast-list.js';

const message = (id: number): Toast => ({ id, text: 'Saved' });
const error = (id: number): Toast => ({
  id,
  text: 'Not found',
  error: { title: 'Not found', detail: '', fields: [], requestId: undefined },
});
const idsAfter = (...toasts: Toast[]): number[] =>
  toasts.reduce<readonly Toast[]>(withToast, []).map(({ id }) => id);

it('a toast without an error does not replace a toast with an error that the user has not closed', () => {
  expect(idsAfter(error(1), ...[2, 3, 4, 5, 6].map(message))).toEqual([1, 3, 4, 5, 6]);
});

it('if there are more than four toasts with errors, the oldest of them is removed', () => {
  expect(idsAfter(...[1, 2, 3, 4, 5].map(error))).toEqual([2, 3, 4, 5]);
});
