/** Converts a script's reply into a map. The reply lists the fields and values of a hash in turn. */
export function parseRedisHashReply(reply: readonly unknown[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), String(reply[i + 1]));
  return fields;
}
