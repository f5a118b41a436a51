/** Converts a script's reply into a map. In the reply, each field of a hash is followed by its value. */
export function parseRedisHashReply(reply: readonly unknown[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), String(reply[i + 1]));
  return fields;
}
