/** Returns the JSON text to store of a contact, without the id at its start: the id is part of the key. */
export function packContactText(contactId: string, text: string): string {
  const start = startOf(contactId);
  return text.startsWith(start) ? text.slice(start.length) : text;
}

/** Restores the exact JSON text. A text that starts with `{` was stored whole. */
export function unpackContactText(contactId: string, packed: string): string {
  return packed.startsWith('{') ? packed : startOf(contactId) + packed;
}

function startOf(contactId: string): string {
  return `{"id":${JSON.stringify(contactId)}`;
}
