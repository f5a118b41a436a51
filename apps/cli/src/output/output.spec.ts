import { describe, expect, it } from '@jest/globals';
import { ago, duration, futureTimeOf, timeOf } from './duration.js';
import { Output } from './output.js';
import { excerpt } from './printable.js';

function outputTo(written: string[], { isJson = false } = {}): Output {
  const stream = { write: (text: string) => written.push(text) };
  return new Output(stream, stream, isJson, false);
}

describe('a time given as an option', () => {
  it('is a time with its time zone, a date, or an age such as 24h; any other text is rejected', () => {
    const now = Date.UTC(2026, 0, 2);
    for (const text of [
      ...['2026-01-01T00:00:00Z', '2026-01-01T00:00Z', '2026-01-01T01:00:00.000+01:00', '2026-01-01'],
      ...['86400s', '1440m', '24h', '1d'],
    ])
      expect(timeOf(text, '--since', now).toISOString()).toBe('2026-01-01T00:00:00.000Z');
    for (const text of ['1w', 'h', '-1h', '1.5h', '', '999999999999d'])
      expect(() => timeOf(text, '--since', now)).toThrow('--since: ');
  });

  it.each(['60', '9', '2026', '2026-01', '1 Jan 2026', '2026-01-01T09:00:00', '2026-02-30', '2026-13-01'])(
    'is rejected if it is %s, although Date.parse or a person may interpret this text as a time',
    (text) => {
      expect(() => timeOf(text, '--since')).toThrow(
        `--since: ${text} is neither a time with its time zone such as 2026-01-31T09:00:00Z`,
      );
      expect(() => futureTimeOf(text, '--send-at')).toThrow(`--send-at: ${text} is not a time`);
    },
  );

  it('that must be in the future cannot be an age, or a date without a time of day', () => {
    expect(futureTimeOf('2030-01-31T09:00:00+01:00', '--send-at').toISOString()).toBe(
      '2030-01-31T08:00:00.000Z',
    );
    for (const text of ['30d', '2030-01-31'])
      expect(() => futureTimeOf(text, '--expires-at')).toThrow(
        `--expires-at: ${text} is not a time with its time zone; an example is 2030-01-31T09:00:00Z`,
      );
  });
});

describe('a displayed duration', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_500, '1.5 s'],
    [59_000, '59 s'],
    [120_000, '2 min'],
    [7_200_000, '2 h'],
    [259_200_000, '3 d'],
  ])('of %d ms is written as "%s"', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('is "0 ms ago" for a time in the future, and a hyphen for a missing time', () => {
    expect(ago('2026-01-01T00:00:01Z', Date.UTC(2026, 0, 1))).toBe('0 ms ago');
    expect(ago(null)).toBe('-');
  });
});

describe('the output of a command', () => {
  it('ends a list at the limit, and names the option that shows more rows', async () => {
    const written: string[] = [];
    let read = 0;
    const rows = (function* () {
      for (;;) yield { n: (read += 1) };
    })();
    await outputTo(written).list(rows, [{ title: 'N', value: ({ n }) => n }], 2);
    expect(written.join('')).toBe('N\n1\n2\nOnly the first 2 are shown. Show more with --limit.\n');
    expect(read).toBe(3);
  });

  it('shows the rows of a list that were read before an error', async () => {
    const written: string[] = [];
    const rows = (function* () {
      yield* [{ n: 1 }, { n: 2 }];
      throw new Error('the gateway does not answer');
    })();
    const listed = outputTo(written).list(rows, [{ title: 'N', value: ({ n }) => n }], 10);
    await expect(listed).rejects.toThrow('the gateway does not answer');
    expect(written.join('')).toBe('N\n1\n2\n');
  });

  it('shows the first rows of a long list while the others are read', async () => {
    const written: string[] = [];
    const shownAt: number[] = [];
    const rows = (function* () {
      for (let n = 1; n <= 2_000; n += 1) {
        shownAt.push(written.join('').split('\n').length);
        yield { n };
      }
    })();
    await outputTo(written).list(rows, [{ title: 'N', value: ({ n }) => n }], 5_000);
    expect(shownAt[1_000]).toBeGreaterThan(500);
    const lines = Array.from({ length: 2_000 }, (_, index) => `${index + 1}`);
    expect(written.join('')).toBe(`${['N', ...lines].join('\n')}\n`);
  });

  it('aligns the columns of a list, even if a cell is empty or has characters of double width', async () => {
    const written: string[] = [];
    const rows = [
      { a: '日本👋🏽', b: 1 },
      { a: 'b', b: 22 },
      { a: '', b: null },
    ];
    const columns = [
      { title: 'A', value: ({ a }: (typeof rows)[0]) => a },
      { title: 'B', value: ({ b }: (typeof rows)[0]) => b },
    ];
    await outputTo(written).list(rows, columns, 10);
    expect(written.join('')).toBe('A       B\n日本👋🏽  1\nb       22\n-       -\n');
  });

  it('has one JSON object per line for a list if JSON is requested', async () => {
    const written: string[] = [];
    await outputTo(written, { isJson: true }).list([{ a: 1 }, { a: '\u009b' }], [], 10);
    expect(written).toEqual(['{"a":1}\n', '{"a":"\\u009b"}\n']);
  });

  it('colors a remark only if standard error is a terminal, and writes it as JSON if JSON is requested', () => {
    const remark = (isTTY: { stdout: boolean; stderr: boolean }, isJson: boolean): string => {
      const written: string[] = [];
      const write = (text: string): unknown => written.push(text);
      const { stdout, stderr } = isTTY;
      new Output({ write, isTTY: stdout }, { write, isTTY: stderr }, isJson, true).note('a');
      return written.join('');
    };
    expect(remark({ stdout: true, stderr: false }, false)).toBe('a\n');
    expect(remark({ stdout: false, stderr: true }, false)).toBe('\u001b[2ma\u001b[22m\n');
    expect(remark({ stdout: true, stderr: true }, true)).toBe('{"note":"a"}\n');
  });

  it('shows each field of an object on its own line, except fields without a value', () => {
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

  it('shortens a text that is too long, and replaces control characters', () => {
    expect(excerpt('a\u001b]0;title\u0007\r\nb', 40)).toBe('a\ufffd]0;title\ufffd  b');
    expect(excerpt('a\u061cb\u2028c\u2029d', 40)).toBe('a\ufffdb c d');
    expect(excerpt('👋'.repeat(10), 4)).toBe('👋👋👋…');
    expect(excerpt('👨‍👩‍👧🇩🇪👋🏽!', 3)).toBe('👨‍👩‍👧🇩🇪…');
  });
});
