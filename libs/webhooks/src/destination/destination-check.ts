import { isIP } from 'node:net';
import { withDeadline } from '#platform';
import { type DestinationGuard, hostOf, isLocalhost, refused } from './destination-guard.js';
import type { Resolver } from './resolver.js';

const RESOLVE_WITHIN_MS = 3_000;

/** Checks a destination when an endpoint is made. The connection is checked again, on the address really dialled. */
export class DestinationCheck {
  constructor(
    private readonly guard: DestinationGuard,
    private readonly resolve: Resolver,
  ) {}

  /**
   * The URL in its normal form. A name that does not resolve (yet) is accepted for `https://`.
   * @throws {DestinationRefusedError}
   */
  async check(text: string): Promise<string> {
    const url = this.guard.parse(text);
    const host = hostOf(url);
    const addresses = isIP(host) === 0 ? await this.addressesOf(host) : [host];
    if (addresses.length === 0 && url.protocol !== 'https:') {
      throw refused(
        `http:// is allowed only to the networks in WEBHOOK_ALLOW_NETWORKS, and ${host} does not resolve`,
      );
    }
    this.guard.check(url, addresses);
    return url.href;
  }

  private async addressesOf(host: string): Promise<string[]> {
    try {
      return await withDeadline(this.resolve(host), RESOLVE_WITHIN_MS, `resolving ${host}`);
    } catch {
      // Not to be resolved now, whyever: what it is later, the connection's own check decides.
      return isLocalhost(host) ? ['127.0.0.1'] : [];
    }
  }
}
