import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { consoleLineOf } from './console-line.js';

/** Returns the line that the logger writes for an entry. */
function logLineOf(write: (logger: ReturnType<typeof createLogger>) => void): string {
  let line = '';
  write(createLogger('worker', 'debug', { write: (text) => void (line = text) }));
  return line;
}

describe('the console text of a log line', () => {
  it.each([
    ['has the error', { err: new Error('connection refused') }, 'warning: not done: connection refused'],
    [
      'has the causes of the error',
      { err: new Error('no answer', { cause: new Error('connection refused') }) },
      'warning: not done: no answer: connection refused',
    ],
    ['has the reason', { account: 'a', reason: 'the disk is full' }, 'warning: not done: the disk is full'],
    ['has the error of a queue', { queue: 'polls', error: 'closed' }, 'warning: not done: closed'],
    ['names no reason twice', { err: new Error('not done') }, 'warning: not done'],
    ['has no other fields', { account: 'a', contactId: 'c' }, 'warning: not done'],
  ])('%s', (_, fields, expected) => {
    expect(
      consoleLineOf(
        logLineOf((logger) => {
          logger.warn(fields, 'not done');
        }),
      ),
    ).toBe(expected);
  });

  it('says that the line is an error', () => {
    expect(
      consoleLineOf(
        logLineOf((logger) => {
          logger.error('stopped');
        }),
      ),
    ).toBe('error: stopped');
  });

  it('is absent for a line of the level `info`, and for a line that is not JSON', () => {
    expect(
      consoleLineOf(
        logLineOf((logger) => {
          logger.info('started');
        }),
      ),
    ).toBeUndefined();
    expect(consoleLineOf('started')).toBeUndefined();
    expect(consoleLineOf('{"level":')).toBeUndefined();
  });
});
