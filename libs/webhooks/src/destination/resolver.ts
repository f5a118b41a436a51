import { lookup, Resolver as DnsResolver } from 'node:dns/promises';
import { bulkhead } from 'cockatiel';
import { withDeadline } from '#platform';
import { HostsFile } from './hosts-file.js';

/**
 * Returns the IP addresses of a host name: at least one. If the DNS query for one address family (IPv4 or IPv6) gets
 * no answer in time, the addresses of this family are missing. Rejects if the name has no address, or if no address
 * is found in time.
 */
export type Resolver = (hostname: string) => Promise<string[]>;

/** Timeout of the first query to a DNS server, in milliseconds. The timeout doubles with each further query. */
const DNS_TRY_MS = 1_000;
/** Max number of queries to a DNS server for one name. */
const DNS_TRIES = 3;
/** Max wait for the other DNS query (IPv4 or IPv6) after the first of the two has an answer, in milliseconds. */
const OTHER_FAMILY_MS = 1_000;
/** Timeout of resolving a host name from all sources together, in milliseconds. */
const NAME_TIMEOUT_MS = 8_000;
/** Max number of host names that are resolved concurrently. */
const MAX_NAMES = 1_000;
/**
 * Max number of concurrent lookups of host names by the operating system. Each lookup blocks one of Node's four
 * worker threads, which file access and encryption need, too.
 */
const MAX_SYSTEM_LOOKUPS = 2;

/** Settings of {@link createHostNameResolver}. */
export interface ResolverSettings {
  /** DNS servers as `address:port`. Default: the servers of the system. */
  servers?: readonly string[];
  /** Path of the hosts file. Default: `/etc/hosts`. */
  hostsFile?: string;
}

/**
 * Returns a resolver of host names. The resolver asks the hosts file, then DNS, then the operating system, which
 * also uses search domains and other sources of names. DNS queries block no thread, so a hanging DNS server delays
 * nothing else. Concurrent calls for the same name share one answer.
 */
export function createHostNameResolver({ servers, hostsFile }: ResolverSettings = {}): Resolver {
  const hosts = new HostsFile(hostsFile);
  const dns = new DnsResolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES });
  if (servers !== undefined) dns.setServers(servers);
  const system = bulkhead(MAX_SYSTEM_LOOKUPS, MAX_NAMES);
  const ask = async (hostname: string): Promise<string[]> => {
    const known = await hosts.addressesOf(hostname);
    if (known.length > 0) return [...known];
    const queries = [dns.resolve4(hostname), dns.resolve6(hostname)];
    const answers = Promise.allSettled(queries);
    const first = await Promise.any(queries).catch(() => undefined);
    if (first !== undefined) {
      const addresses = answers.then((both) =>
        both.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])),
      );
      // Some DNS servers never answer the query for the other family.
      return await withDeadline(addresses, OTHER_FAMILY_MS, 'the other query').catch(() => first);
    }
    const failure = (await answers).find(
      (answer) => answer.status === 'rejected' && !systemMayKnow(answer.reason),
    );
    if (failure?.status === 'rejected') throw failure.reason;
    const found = await system.execute(() => lookup(hostname, { all: true, order: 'verbatim' }));
    return found.map(({ address }) => address);
  };
  const pending = new Map<string, Promise<string[]>>();
  return (hostname) => {
    const running = pending.get(hostname);
    if (running !== undefined) return running;
    if (pending.size >= MAX_NAMES) return Promise.reject(new Error('too many names are being resolved'));
    const answer = withDeadline(ask(hostname), NAME_TIMEOUT_MS, `resolving ${hostname}`).finally(() =>
      pending.delete(hostname),
    );
    pending.set(hostname, answer);
    return answer;
  };
}

/**
 * DNS error codes after which the operating system is asked: DNS does not know the name, or no DNS server is running.
 */
const SYSTEM_MAY_KNOW: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ECONNREFUSED']);

function systemMayKnow(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && SYSTEM_MAY_KNOW.has(code);
}
