import { isIP } from 'node:net';
import { withDeadline } from '#platform';
import { type DestinationGuard, hostOf, isLocalhost, refusalError } from './destination-guard.js';
import type { Resolver } from './resolver.js';

/** Timeout of resolving a name, in milliseconds. */
const RESOLVE_TIMEOUT_MS = 3_000;

/** Checks the URL of a new or changed endpoint. Each connection checks the address that it really reaches, too. */
export class DestinationCheck {
  constructor(
    private readonly guard: DestinationGuard,
    private readonly resolve: Resolver,
  ) {}

  /**
   * Returns the URL in normalized form. Accepts an unresolvable name only for `https://`.
   * @throws {DestinationRefusedError}
   */
  async check(text: string): Promise<string> {
    const url = this.guard.parse(text);
    const host = hostOf(url);
    const addresses = isIP(host) === 0 ? await this.addressesOf(host) : [host];
    if (addresses.length === 0 && url.protocol !== 'https:') {
      throw refusalError(
        `http:// is allowed only for networks in WEBHOOK_ALLOW_NETWORKS, and ${host} does not resolve`,
      );
    }
    this.guard.check(url, addresses);
    return url.href;
  }

  private async addressesOf(host: string): Promise<string[]> {
    try {
      return await withDeadline(this.resolve(host), RESOLVE_TIMEOUT_MS, `resolving ${host}`);
    } catch {
      // A name that cannot be resolved now is checked again by each connection.
      return isLocalhost(host) ? ['127.0.0.1'] : [];
    }
  }
}
