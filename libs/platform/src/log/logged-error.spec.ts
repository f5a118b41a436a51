import { describe, expect, it } from '@jest/globals';
import { createLogger } from './logger.js';
import { toLoggedError, logMessageOf } from './logged-error.js';

function lineOf(error: unknown): string {
  const lines: string[] = [];
  createLogger('test', 'trace', { write: (line) => lines.push(line) }).error({ err: error }, 'it failed');
  return lines.join('');
}

describe('a logged error', () => {
  it('has a type, a message, a code and stack frames', () => {
    const error = Object.assign(new TypeError('the lane is shut'), { code: 'ESHUT' });
    const entry = JSON.parse(lineOf(error)) as { msg: string; err: Record<string, unknown> };
    expect(entry.msg).toBe('it failed');
    expect(entry.err).toMatchObject({ type: 'TypeError', words: 'the lane is shut', code: 'ESHUT' });
    expect(entry.err['stack']).toEqual(
      expect.arrayContaining([expect.stringContaining('logged-error.spec')]),
    );
  });

  it('contains no field of the error or of its causes besides type, message, code and stack frames', () => {
    const axios = Object.assign(new Error('Request failed'), {
      name: 'AxiosError',
      config: { headers: { 'X-API-Key': 'hush-key' }, data: 'hush-text' },
    });
    const redis = Object.assign(new Error('ERR no'), {
      command: { name: 'evalsha', args: ['hush-text'] },
      cause: axios,
    });
    const line = lineOf(redis);
    expect(line).not.toContain('hush');
    expect(JSON.parse(line)).toMatchObject({
      err: { words: 'ERR no', cause: { type: 'AxiosError', words: 'Request failed' } },
    });
  });

  it('contains the `logMessage` of an error instead of its message, which may quote a reply of upstream; the stack frames do not contain the message either', () => {
    const error = Object.assign(new Error('upstream answered 400: hush-text'), {
      logMessage: 'upstream answered 400',
    });
    expect(lineOf(error)).not.toContain('hush');
    expect(logMessageOf(error)).toBe('upstream answered 400');
  });

  it('does not contain the text that a JSON parser rejected', () => {
    let caught: unknown;
    try {
      JSON.parse('hush-text');
    } catch (error) {
      caught = error;
    }
    expect((caught as Error).message).toContain('hush');
    expect(lineOf(new Error('unreadable', { cause: caught }))).not.toContain('hush');
  });

  it('has a limited length, even if its message, stack and causes are very long', () => {
    const endless = new Error('x'.repeat(100_000));
    endless.stack = `Error\n${'    at somewhere (file.ts:1:1)\n'.repeat(10_000)}`;
    endless.cause = endless;
    expect(lineOf(endless).length).toBeLessThan(10_000);
  });

  it.each([undefined, null, 'hush', 7, { key: 'hush' }])(
    'does not contain a value that is thrown instead of an error: %p',
    (thrown) => {
      expect(JSON.stringify(toLoggedError(thrown))).not.toContain('hush');
      expect(lineOf(thrown)).not.toContain('hush');
    },
  );
});
