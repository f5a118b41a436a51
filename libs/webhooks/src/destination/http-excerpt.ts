import type { Readable } from 'node:stream';

const MOST_BYTES = 1_024;

/**
 * Reads at most 1 KB of a body and tells of each growth, so that what came before a failure is known.
 * A longer body is cut: its connection is dropped, since reading on has no end.
 */
export async function readExcerpt(body: Readable, tell: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  let left = MOST_BYTES;
  // Cutting the body raises an error for whoever still reads it: nobody does.
  body.on('error', () => undefined);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += decoder.decode(chunk.subarray(0, left), { stream: true });
    tell(text);
    left -= chunk.length;
    // A full KB is enough to judge by; whether the body would have ended there is not waited for.
    if (left <= 0) break;
  }
}
