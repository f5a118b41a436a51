import { describe, expect, it } from '@jest/globals';
import { createLogger, type Logger } from './logger.js';

function capture(level = 'trace'): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  return { logger: createLogger('test', level, { write: (line) => lines.push(line) }), lines };
}

describe('the log', () => {
  it.each(['apiKey', 'token', 'secret', 'password', 'authorization', 'x-api-key', 'message', 'text'])(
    'redacts the field %s at the top level of an entry and up to two levels below',
    (field) => {
      const { logger, lines } = capture();
      logger.info({ [field]: 'hush' }, 'said');
      logger.info({ account: { [field]: 'hush' } }, 'said');
      logger.info({ request: { headers: { [field]: 'hush' } } }, 'said');
      logger.child({ child: true }).warn({ request: { headers: { [field]: 'hush' } } }, 'said');
      expect(lines).toHaveLength(4);
      for (const line of lines) {
        expect(line).not.toContain('hush');
        expect(line).toContain('[redacted]');
      }
    },
  );

  it('writes one line of JSON per entry, with the process, the time and the message', () => {
    const { logger, lines } = capture();
    logger.info({ account: 'a' }, 'two\nlines');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.trimEnd()).not.toContain('\n');
    const entry = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    expect(entry).toMatchObject({ name: 'test', account: 'a', msg: 'two\nlines' });
    expect(new Date(String(entry['time'])).toISOString()).toBe(entry['time']);
  });

  it('contains no entries below its configured level', () => {
    const { logger, lines } = capture('warn');
    logger.info('quiet');
    logger.warn('loud');
    expect(lines).toHaveLength(1);
  });
});
