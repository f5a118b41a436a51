import { lookup, Resolver as DnsResolver } from 'node:dns/promises';
import { bulkhead } from 'cockatiel';
import { withDeadline } from '#platform';
import { HostsFile } from './hosts-file.js';

/** All addresses of a name, at least one. Rejects where there is none. */
export type Resolver = (hostname: string) => Promise<string[]>;

/** Of one try at one DNS server, in milliseconds; the next one waits twice as long. */
const DNS_TRY_MS = 1_000;
const DNS_TRIES = 3;
/** For a name altogether, in milliseconds. */
const NAME_MS = 8_000;
/** So many names are resolved at once. */
const MAX_NAMES = 1_000;
/** So many at most of the process' four threads, which files and ciphers need too, wait for the operating system's answer. */
const MAX_SYSTEM_LOOKUPS = 2;

export interface ResolverSettings {
  /** DNS servers, as `address:port`; those of the system unless given. */
  servers?: readonly string[];
  hostsFile?: string;
}

/**
 * Resolves names by the hosts file, by DNS, and, where DNS does not know the name, by the operating system, which knows
 * search domains and other sources. DNS is asked without a thread of the process, so that names whose servers hang
 * hold up nothing else. Everybody who asks for the same name at the same time waits for one answer.
 */
export function systemResolver({ servers, hostsFile }: ResolverSettings = {}): Resolver {
  const hosts = new HostsFile(hostsFile);
  const dns = new DnsResolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES });
  if (servers !== undefined) dns.setServers(servers);
  const system = bulkhead(MAX_SYSTEM_LOOKUPS, MAX_NAMES);
  const ask = async (hostname: string): Promise<string[]> => {
    const known = await hosts.addressesOf(hostname);
    if (known.length > 0) return [...known];
    const answers = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const failure = answers.find((answer) => answer.status === 'rejected' && !systemMayKnow(answer.reason));
    if (failure?.status === 'rejected') throw failure.reason;
    const found = await system.execute(() => lookup(hostname, { all: true, order: 'verbatim' }));
    return found.map(({ address }) => address);
  };
  const asked = new Map<string, Promise<string[]>>();
  return (hostname) => {
    const underWay = asked.get(hostname);
    if (underWay !== undefined) return underWay;
    if (asked.size >= MAX_NAMES) return Promise.reject(new Error('too many names are being resolved'));
    const answer = withDeadline(ask(hostname), NAME_MS, `resolving ${hostname}`).finally(() =>
      asked.delete(hostname),
    );
    asked.set(hostname, answer);
    return answer;
  };
}

/** DNS answered that there is no such name or address, or there is no DNS server. */
const SYSTEM_MAY_KNOW: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ECONNREFUSED']);

function systemMayKnow(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && SYSTEM_MAY_KNOW.has(code);
}
