/** What is kept of a contact's JSON text: all of it, but for the id at its start, which stands in its key. */
export function packContactText(contactId: string, text: string): string {
  const start = startOf(contactId);
  return text.startsWith(start) ? text.slice(start.length) : text;
}

/** The text, to the letter: one that was shortened does not begin as an object does. */
export function unpackContactText(contactId: string, packed: string): string {
  return packed.startsWith('{') ? packed : startOf(contactId) + packed;
}

function startOf(contactId: string): string {
  return `{"id":${JSON.stringify(contactId)}`;
}
