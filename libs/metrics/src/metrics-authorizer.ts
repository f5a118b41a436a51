import { createHash, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { ApiKeyAuthenticator } from '#accounts';
import type { CommonEnvironment } from '#platform';

/** A request for the metrics. */
export interface MetricsRequest {
  /** IP address from which the connection was made: the caller's or a proxy's. */
  address: string | undefined;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Text of the error reply to a caller who may not read the metrics. */
export const METRICS_UNAUTHORIZED_MESSAGE =
  'Send the value of METRICS_TOKEN as a bearer token, or an API key with the scope admin in the X-API-Key header, or send the request from a network in METRICS_ALLOW_NETWORKS without a proxy.';

/**
 * Headers that a proxy adds. The source address of a request with such a header is the proxy's, not the
 * caller's.
 */
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/**
 * Decides whether a caller may read the metrics. The caller needs the token METRICS_TOKEN, or an API key with
 * the scope `admin`, or an address in METRICS_ALLOW_NETWORKS. The address does not count if a proxy forwards
 * the request.
 */
export class MetricsAuthorizer {
  constructor(
    private readonly settings: Pick<CommonEnvironment, 'METRICS_TOKEN' | 'METRICS_ALLOW_NETWORKS'>,
    private readonly keys: ApiKeyAuthenticator,
  ) {}

  async mayRead({ address, headers }: MetricsRequest): Promise<boolean> {
    if (this.hasToken(headers['authorization']) || this.isInNetwork(address, headers)) return true;
    const key = headers['x-api-key'];
    if (typeof key !== 'string' || key === '') return false;
    return (await this.keys.authenticate(key))?.scopes.has('admin') === true;
  }

  private hasToken(authorization: string | string[] | undefined): boolean {
    const { METRICS_TOKEN: token } = this.settings;
    if (token === '' || typeof authorization !== 'string') return false;
    const [scheme] = /^Bearer +/i.exec(authorization) ?? [];
    if (scheme === undefined) return false;
    return timingSafeEqual(digest(authorization.slice(scheme.length).trim()), digest(token));
  }

  private isInNetwork(address: string | undefined, headers: MetricsRequest['headers']): boolean {
    if (address === undefined || !ipaddr.isValid(address)) return false;
    if (FORWARDING_HEADERS.some((name) => headers[name] !== undefined)) return false;
    const parsed = ipaddr.process(address);
    return this.settings.METRICS_ALLOW_NETWORKS.some(
      ([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits),
    );
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
