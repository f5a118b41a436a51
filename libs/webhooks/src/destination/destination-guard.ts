import ipaddr from 'ipaddr.js';
import type { Network } from '#platform';
import { DestinationRefusedError } from '../endpoint/endpoint.js';

export type Address = ReturnType<typeof ipaddr.process>;

const LONGEST_URL = 2_048;
const LONGEST_HOST = 253;
const REMEDY = 'if it is one of your own subscribers, name its network in WEBHOOK_ALLOW_NETWORKS';

/** Where IPv6 addresses of the public Internet lie; everything else is local, reserved or not yet given out. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/** Prefixes behind which a translator or a tunnel reaches an IPv4 address, and where in the address that stands. */
const EMBEDDINGS: readonly { network: Network; at: readonly number[]; inverted: boolean }[] = [
  { network: ipaddr.parseCIDR('64:ff9b::/96'), at: [12], inverted: false },
  { network: ipaddr.parseCIDR('2002::/16'), at: [2], inverted: false },
  { network: ipaddr.parseCIDR('2001::/32'), at: [4], inverted: false },
  { network: ipaddr.parseCIDR('2001::/32'), at: [12], inverted: true },
];
/** Public by its number, yet the metadata service of every virtual machine of Azure. */
const METADATA: ReadonlySet<string> = new Set(['168.63.129.16']);

/**
 * The rules about where a webhook may go. Pure: what a name resolves to is asked elsewhere.
 * `https://` may reach every public address; private addresses, and `http://` at all, only the allowed networks.
 */
export class DestinationGuard {
  constructor(private readonly allowed: readonly Network[]) {}

  /**
   * The parsed URL of a text whose form is fit for a webhook.
   * @throws {DestinationRefusedError}
   */
  parse(text: string): URL {
    if (text.length > LONGEST_URL) throw refused(`the URL is longer than ${LONGEST_URL} characters`);
    let url: URL;
    try {
      url = new URL(text);
    } catch {
      throw refused('it is not an absolute URL, such as https://example.com/hook');
    }
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      throw refused('only https:// and, to allowed networks, http:// are possible');
    }
    if (url.username !== '' || url.password !== '')
      throw refused('the URL contains credentials; leave them out');
    if (url.hash !== '' || text.includes('#')) throw refused('the URL has a fragment; leave it out');
    if (url.port === '0') throw refused('port 0 cannot be reached');
    const name = hostOf(url);
    if (name === '' || name.endsWith('.') || name.length > LONGEST_HOST) {
      throw refused('the host of the URL is not a name or an address');
    }
    return url;
  }

  /**
   * Why the URL's scheme may not be used to reach the address, or undefined if it may. Text that is no address may not.
   * An address that merely wraps an IPv4 address is judged by that one.
   */
  refusal(protocol: string, address: string): string | undefined {
    const parsed = parseAddress(address);
    if (parsed === undefined) return `${address} is not an address`;
    if (this.isAllowed(parsed)) return undefined;
    const kind = localKindOf(parsed);
    if (kind !== undefined) return `${address} is ${kind}; ${REMEDY}`;
    if (protocol === 'https:') return undefined;
    return `http:// is allowed only to the networks in WEBHOOK_ALLOW_NETWORKS, and ${address} is in none of them; use https://`;
  }

  /**
   * Checks all addresses of a destination: one that may not be reached refuses the whole.
   * @throws {DestinationRefusedError}
   */
  check(url: Pick<URL, 'protocol' | 'hostname'>, addresses: readonly string[]): void {
    for (const address of addresses) {
      const refusal = this.refusal(url.protocol, address);
      if (refusal !== undefined) throw refused(refusal);
    }
  }

  private isAllowed(address: Address): boolean {
    return this.allowed.some((network) => isWithin(address, network));
  }
}

/** The URL's host without brackets and without the dot of a fully qualified name. */
export function hostOf(url: Pick<URL, 'hostname'>): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** Whether the name means this machine wherever it is asked (RFC 6761). */
export function isLocalhost(name: string): boolean {
  return /(^|\.)localhost(\.localdomain)?$/i.test(name);
}

export function refused(reason: string): DestinationRefusedError {
  return new DestinationRefusedError(`The webhook's address is refused: ${reason}.`);
}

function parseAddress(text: string): Address | undefined {
  try {
    return ipaddr.process(text);
  } catch {
    return undefined;
  }
}

/** What keeps an address from being public, in words; undefined for a public one. */
function localKindOf(address: Address): string | undefined {
  if (METADATA.has(address.toString())) return 'a metadata service';
  if (address instanceof ipaddr.IPv4) {
    const range = address.range();
    return range === 'unicast' ? undefined : `not public (${range})`;
  }
  const embedded = embeddedIn(address);
  if (embedded.length > 0) {
    const inner = embedded.find((candidate) => localKindOf(candidate) !== undefined);
    return inner === undefined ? undefined : `a way to ${inner.toString()}, which is not public`;
  }
  const range = address.range();
  if (range !== 'unicast') return `not public (${range})`;
  return isWithin(address, GLOBAL_UNICAST) ? undefined : 'not public (reserved)';
}

function embeddedIn(address: ipaddr.IPv6): Address[] {
  const bytes = address.toByteArray();
  return EMBEDDINGS.filter(({ network }) => isWithin(address, network)).flatMap(({ at, inverted }) =>
    at.map((first) =>
      ipaddr.fromByteArray(bytes.slice(first, first + 4).map((byte) => (inverted ? byte ^ 0xff : byte))),
    ),
  );
}

function isWithin(address: Address, [base, bits]: Network): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}
