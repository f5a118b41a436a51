import type { Readable } from 'node:stream';

const MAX_BYTES = 1_024;

/**
 * Reads at most 1,024 bytes of a reply's body. After each chunk, passes the text so far to `onText`, so that this text
 * is not lost if the connection fails. If the body is longer, closes the connection, because the body may be endless.
 */
export async function readBodyExcerpt(body: Readable, onText: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  let left = MAX_BYTES;
  // Ignore the error that the stream emits when it is closed early.
  body.on('error', () => undefined);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += decoder.decode(chunk.subarray(0, left), { stream: true });
    onText(text);
    left -= chunk.length;
    // The excerpt is complete. The rest of the body is not needed.
    if (left <= 0) break;
  }
}
