/**
 * Returns the id of the send that an uploaded file belongs to, or undefined if the file's id does not have the
 * expected form. A file's id contains the same random digits as the id of its send, so each id can be derived from
 * the other.
 */
export function sendIdOfUploadedFile(blobId: string): string | undefined {
  const [, random] = /\/blb_([0-9a-f]{32})$/.exec(blobId) ?? [];
  return random === undefined ? undefined : `snd_${random}`;
}
