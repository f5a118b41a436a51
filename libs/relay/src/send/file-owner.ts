/**
 * The id of the send that a file is for: the two share their random part, so that each can be found from the other.
 * Undefined for what is not named as our blobs are.
 */
export function sendIdOf(blobId: string): string | undefined {
  const [, random] = /\/blb_([0-9a-f]{32})$/.exec(blobId) ?? [];
  return random === undefined ? undefined : `snd_${random}`;
}
