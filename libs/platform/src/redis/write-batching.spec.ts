import { Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { batchWritesTo } from './write-batching.js';

/** A stream that records which chunks come with one call. */
function recorder(): { stream: Writable; calls: string[][] } {
  const calls: string[][] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, _, done) => {
      calls.push([chunk]);
      done();
    },
    writev: (chunks, done) => {
      calls.push(chunks.map(({ chunk }) => String(chunk)));
      done();
    },
  });
  batchWritesTo(stream);
  return { stream, calls };
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('what is written in one turn of the event loop is sent with one call, in order', async () => {
  const { stream, calls } = recorder();
  for (const text of ['a', 'b', 'c']) stream.write(text);
  expect(calls).toEqual([]);
  await endOfTurn();
  expect(calls).toEqual([['a', 'b', 'c']]);
  stream.write('d');
  await endOfTurn();
  expect(calls.at(-1)).toEqual(['d']);
});

it('many writes of one turn do not wait for its end', async () => {
  const { stream, calls } = recorder();
  for (let n = 0; n < 40; n += 1) stream.write(String(n));
  expect(calls.flat()).toHaveLength(32);
  await endOfTurn();
  expect(calls.flat()).toEqual(Array.from({ length: 40 }, (_, n) => String(n)));
});

it('the end of a stream sends what waits', async () => {
  const { stream, calls } = recorder();
  stream.write('a');
  await new Promise<void>((resolve) => stream.end(resolve));
  expect(calls.flat()).toEqual(['a']);
});
