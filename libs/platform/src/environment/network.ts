import ipaddr from 'ipaddr.js';

/** A block of IP addresses in CIDR notation. */
export type Network = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * Parses CIDR blocks separated by commas, such as `10.0.0.0/8,fd00::/8`. Skips empty parts, so that a list may be
 * composed of variables that are not all set. Returns an empty list for empty text.
 * @throws {Error} if a part of the text is not a CIDR block
 */
export function parseNetworks(text: string): Network[] {
  const items = text.split(',').map((item) => item.trim());
  return items.filter((item) => item !== '').map((item) => ipaddr.parseCIDR(item));
}
