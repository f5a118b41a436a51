import type { Readable } from 'node:stream';

const MAX_BYTES = 1_024;

/**
 * Reads at most 1,024 bytes of a body. Passes the text so far to `onText` after each chunk, so that the caller has the
 * text that preceded a failure. Closes the connection of a longer body, which may be endless.
 */
export async function readExcerpt(body: Readable, onText: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  let left = MAX_BYTES;
  // Destroying the body emits an error that concerns no reader.
  body.on('error', () => undefined);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += decoder.decode(chunk.subarray(0, left), { stream: true });
    onText(text);
    left -= chunk.length;
    // The excerpt is complete, so the end of the body does not matter.
    if (left <= 0) break;
  }
}
