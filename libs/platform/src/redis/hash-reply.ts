/** Converts a script's reply with alternating fields and values of a hash into a map. */
export function mapOfHashReply(reply: readonly unknown[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), String(reply[i + 1]));
  return fields;
}
