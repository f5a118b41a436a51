import { isIP } from 'node:net';
import { withDeadline } from '#platform';
import { ForbiddenDestinationError } from '../endpoint/endpoint.js';
import type { DestinationGuard } from './destination-guard.js';
import type { Resolver } from './resolver.js';
import { isLocalhost, normalizedHostOf, parseWebhookUrl } from './webhook-url.js';

/** Timeout of resolving a host name, in milliseconds. */
const RESOLVE_TIMEOUT_MS = 3_000;

/**
 * Checks the URL of a new or changed webhook. Later, each connection also checks the IP address that it really reaches.
 */
export class WebhookUrlChecker {
  constructor(
    private readonly guard: DestinationGuard,
    private readonly resolve: Resolver,
  ) {}

  /**
   * Returns the URL in normalized form. A host name that does not resolve now is accepted only with `https://`.
   * Exception: `localhost` then counts as 127.0.0.1.
   * @throws {ForbiddenDestinationError} if webhooks must not use this URL
   */
  async check(text: string): Promise<string> {
    const url = parseWebhookUrl(text);
    const host = normalizedHostOf(url);
    const addresses = isIP(host) === 0 ? await this.addressesOf(host) : [host];
    if (addresses.length === 0 && url.protocol !== 'https:') {
      throw new ForbiddenDestinationError(
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
      // A host name that does not resolve now is not an error for `https://`, because each connection resolves and
      // checks the name again.
      return isLocalhost(host) ? ['127.0.0.1'] : [];
    }
  }
}
