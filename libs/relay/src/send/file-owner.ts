/**
 * Returns the id of the send that a file belongs to, or undefined for a foreign blob id.
 *
 * The ids of a blob and of its send share their random part, so that each can be derived from the other.
 */
export function sendIdOfBlob(blobId: string): string | undefined {
  const [, random] = /\/blb_([0-9a-f]{32})$/.exec(blobId) ?? [];
  return random === undefined ? undefined : `snd_${random}`;
}
