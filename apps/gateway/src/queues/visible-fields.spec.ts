import { expect, it } from '@jest/globals';
import { visibleFields } from './visible-fields.js';

it('the data of a job shows only ids, the last digits of the recipient and the number of further recipients', () => {
  const job = {
    id: '7',
    data: {
      ...{ account: 'default', lane: '+14155550123', more: ['+14155550124', '+14155550125'] },
      ...{ endpointId: 'whk_1', message: 'a secret text', apiKey: 'a key' },
    },
  };
  expect(visibleFields({ job })).toEqual({
    job: {
      id: '7',
      data: { account: 'default', recipient: '…123', moreRecipients: 2, endpointId: 'whk_1' },
    },
  });
});

it('a phone number with too few digits to be shortened, and job data that is not an object, are hidden', () => {
  expect(visibleFields([{ data: { lane: '12345' } }, { data: 'text' }, { data: ['text'] }])).toEqual([
    { data: { recipient: '…' } },
    { data: {} },
    { data: {} },
  ]);
});

it('error texts, results, log lines and progress objects of a job are hidden', () => {
  const job = {
    failedReason: 'cannot post "a secret text"',
    stacktrace: ['at a secret text'],
    returnValue: { text: 'a secret text' },
    progress: { text: 'a secret text' },
    logs: ['a secret text'],
    deferredFailure: 'a secret text',
  };
  const shown = JSON.stringify(visibleFields({ queues: [{ jobs: [job] }] }));
  expect(shown).not.toContain('secret');
  expect(shown).toContain('"failedReason":"The error is not shown here, but in the log of the worker."');
});

it('numeric values of a job are not hidden, and no failure reason is added to a job without one', () => {
  const shown = { data: [1, 2], progress: 50, failedReason: undefined, counts: { wait: 0 } };
  expect(visibleFields(shown)).toEqual(shown);
});
