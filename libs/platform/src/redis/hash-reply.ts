/** The fields of a hash, as a script answers them: each field is followed by its value. */
export function hashOf(reply: readonly unknown[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), String(reply[i + 1]));
  return fields;
}
