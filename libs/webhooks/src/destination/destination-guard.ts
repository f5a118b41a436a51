import ipaddr from 'ipaddr.js';
import type { Network } from '#platform';
import { ForbiddenDestinationError } from '../endpoint/endpoint.js';

/** A parsed IPv4 or IPv6 address. */
export type IpAddress = ReturnType<typeof ipaddr.process>;

const REMEDY = 'to allow your own subscriber, add its network to WEBHOOK_ALLOW_NETWORKS';

/** The public IPv6 addresses. All other IPv6 addresses are local, reserved or unassigned. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/**
 * IPv6 prefixes for translation and tunnels (NAT64, 6to4, Teredo), whose addresses contain IPv4 addresses. `at`: byte
 * offsets of the IPv4 addresses. `inverted`: true if the bits of the IPv4 address are inverted.
 */
const EMBEDDINGS: readonly { network: Network; at: readonly number[]; inverted: boolean }[] = [
  { network: ipaddr.parseCIDR('64:ff9b::/96'), at: [12], inverted: false },
  { network: ipaddr.parseCIDR('2002::/16'), at: [2], inverted: false },
  { network: ipaddr.parseCIDR('2001::/32'), at: [4], inverted: false },
  { network: ipaddr.parseCIDR('2001::/32'), at: [12], inverted: true },
];
/** Public addresses at which cloud providers run internal metadata services. Azure uses 168.63.129.16. */
const METADATA: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * Decides which IP addresses webhooks may use. All public addresses are allowed with `https://`. Private addresses and
 * `http://` are allowed only for networks in WEBHOOK_ALLOW_NETWORKS.
 */
export class DestinationGuard {
  constructor(private readonly allowed: readonly Network[]) {}

  /**
   * Returns why webhooks must not send requests to the given IP address with the given URL scheme, or undefined if
   * the address is allowed. A text that is not an IP address is not allowed. An IPv6 address that contains IPv4
   * addresses counts as public only if all of them are public.
   */
  refusal(protocol: string, address: string): string | undefined {
    const parsed = parseAddress(address);
    if (parsed === undefined) return `${address} is not an IP address`;
    if (this.isAllowed(parsed)) return undefined;
    const kind = localKindOf(parsed);
    if (kind !== undefined) return `${address} is ${kind}; ${REMEDY}`;
    if (protocol === 'https:') return undefined;
    return `http:// is allowed only for networks in WEBHOOK_ALLOW_NETWORKS, and ${address} is in none of them; use https://`;
  }

  /**
   * Checks all IP addresses to which a URL's host name resolves. One forbidden address is enough to reject the URL.
   * @throws {ForbiddenDestinationError} if an address is forbidden
   */
  check(url: Pick<URL, 'protocol' | 'hostname'>, addresses: readonly string[]): void {
    for (const address of addresses) {
      const refusal = this.refusal(url.protocol, address);
      if (refusal !== undefined) throw new ForbiddenDestinationError(refusal);
    }
  }

  private isAllowed(address: IpAddress): boolean {
    return this.allowed.some((network) => isWithin(address, network));
  }
}

function parseAddress(text: string): IpAddress | undefined {
  try {
    return ipaddr.process(text);
  } catch {
    return undefined;
  }
}

/**
 * Describes why an address is allowed only for networks in WEBHOOK_ALLOW_NETWORKS: it is not public, or it belongs to
 * a metadata service. Returns undefined for any other address.
 */
function localKindOf(address: IpAddress): string | undefined {
  if (METADATA.has(address.toString())) return 'a metadata service';
  if (address instanceof ipaddr.IPv4) {
    const range = address.range();
    return range === 'unicast' ? undefined : `not public (${range})`;
  }
  const embedded = embeddedIn(address);
  if (embedded.length > 0) {
    const inner = embedded.find((candidate) => localKindOf(candidate) !== undefined);
    return inner === undefined ? undefined : `a translated form of ${inner.toString()}, which is not public`;
  }
  const range = address.range();
  if (range !== 'unicast') return `not public (${range})`;
  return isWithin(address, GLOBAL_UNICAST) ? undefined : 'not public (reserved)';
}

function embeddedIn(address: ipaddr.IPv6): IpAddress[] {
  const bytes = address.toByteArray();
  return EMBEDDINGS.filter(({ network }) => isWithin(address, network)).flatMap(({ at, inverted }) =>
    at.map((first) =>
      ipaddr.fromByteArray(bytes.slice(first, first + 4).map((byte) => (inverted ? byte ^ 0xff : byte))),
    ),
  );
}

function isWithin(address: IpAddress, [base, bits]: Network): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}
