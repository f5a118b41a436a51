import { Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { batchWritesTo } from './write-batching.js';

/** Creates a stream that records which chunks are sent with the same call. */
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

it('fewer than 16 writes to a socket in one turn of the event loop are sent in order with one call at the end of the turn', async () => {
  const { stream, calls } = recorder();
  for (const text of ['a', 'b', 'c']) stream.write(text);
  expect(calls).toEqual([]);
  await endOfTurn();
  expect(calls).toEqual([['a', 'b', 'c']]);
  stream.write('d');
  await endOfTurn();
  expect(calls.at(-1)).toEqual(['d']);
});

it('after every 16 writes to a socket in one turn of the event loop, these writes are sent before the turn ends', async () => {
  const { stream, calls } = recorder();
  for (let n = 0; n < 40; n += 1) stream.write(String(n));
  expect(calls.flat()).toHaveLength(32);
  await endOfTurn();
  expect(calls.flat()).toEqual(Array.from({ length: 40 }, (_, n) => String(n)));
});

it('ending a socket sends the writes that are still waiting', async () => {
  const { stream, calls } = recorder();
  stream.write('a');
  await new Promise<void>((resolve) => stream.end(resolve));
  expect(calls.flat()).toEqual(['a']);
});
