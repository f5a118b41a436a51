/**
 * Returns the form in which the JSON text of a contact is stored. If the text begins with the id, the id is left out,
 * because the contact is stored under its id.
 */
export function packContactJson(contactId: string, text: string): string {
  const start = startOf(contactId);
  return text.startsWith(start) ? text.slice(start.length) : text;
}

/**
 * Restores the exact JSON text of a contact from its stored form. A stored text that begins with `{` is complete. Any
 * other stored text lacks the beginning of the JSON text, which contains the contact's id.
 */
export function unpackContactJson(contactId: string, packed: string): string {
  return packed.startsWith('{') ? packed : startOf(contactId) + packed;
}

function startOf(contactId: string): string {
  return `{"id":${JSON.stringify(contactId)}`;
}
