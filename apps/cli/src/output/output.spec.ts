import { describe, expect, it } from '@jest/globals';
import { ago, duration, timeOf } from './duration.js';
import { Output } from './output.js';
import { excerpt } from './printable.js';

function outputTo(written: string[], { isJson = false } = {}): Output {
  const stream = { write: (text: string) => written.push(text) };
  return new Output(stream, stream, isJson, false);
}

describe('a time of an option', () => {
  it('is ISO 8601 or an age', () => {
    const now = Date.UTC(2026, 0, 2);
    expect(timeOf('2026-01-01T00:00:00Z', '--since', now).toISOString()).toBe('2026-01-01T00:00:00.000Z');
    for (const age of ['86400s', '1440m', '24h', '1d'])
      expect(timeOf(age, '--since', now).toISOString()).toBe('2026-01-01T00:00:00.000Z');
    for (const text of ['1w', 'h', '-1h', '1.5h', '', '999999999999d'])
      expect(() => timeOf(text, '--since', now)).toThrow('--since: ');
  });
});

describe('the description of a length of time', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_500, '1.5 s'],
    [59_000, '59 s'],
    [120_000, '2 min'],
    [7_200_000, '2 h'],
    [259_200_000, '3 d'],
  ])('of %d ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('is 0 ms if the time lies in the future, and a hyphen if there is no time', () => {
    expect(ago('2026-01-01T00:00:01Z', Date.UTC(2026, 0, 1))).toBe('0 ms ago');
    expect(ago(null)).toBe('-');
  });
});

describe('output', () => {
  it('of a list ends at the limit, and says so', async () => {
    const written: string[] = [];
    let read = 0;
    const rows = (function* () {
      for (;;) yield { n: (read += 1) };
    })();
    await outputTo(written).list(rows, [{ title: 'N', value: ({ n }) => n }], 2);
    expect(written.join('')).toBe('N\n1\n2\nOnly the first 2 are shown. Show more with --limit.\n');
    expect(read).toBe(3);
  });

  it('for programs is one JSON object a line', async () => {
    const written: string[] = [];
    await outputTo(written, { isJson: true }).list([{ a: 1 }, { a: '\u009b' }], [], 10);
    expect(written).toEqual(['{"a":1}\n', '{"a":"\\u009b"}\n']);
  });

  it('of an object has a line for each field that has a value', () => {
    const written: string[] = [];
    outputTo(written).fields({
      id: 'snd_1',
      file: null,
      attempts: [{ at: 't', outcome: 'accepted' }],
      metadata: { order: 17 },
      types: ['a', 'b'],
    });
    expect(written.join('')).toBe(
      'id        snd_1\nattempts\n  - at       t\n    outcome  accepted\nmetadata\n  order  17\ntypes     a, b\n',
    );
  });

  it('of a text that others wrote has no control characters and a bound', () => {
    expect(excerpt('a\u001b]0;title\u0007\r\nb', 40)).toBe('a\ufffd]0;title\ufffd  b');
    expect(excerpt('👋'.repeat(10), 4)).toBe('👋👋👋…');
  });
});
