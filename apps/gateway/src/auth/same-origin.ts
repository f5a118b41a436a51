import type { IncomingHttpHeaders } from 'node:http';

/**
 * True if a page of the gateway itself sent the request. Browsers set both headers; a page cannot change them.
 *
 * `Sec-Fetch-Site` is decisive. If the request also has the header `Origin`, the two must not contradict each other.
 * `Origin` is `null` if the page has the referrer policy `no-referrer`. Without `Sec-Fetch-Site`, the host of
 * `Origin` must be that of the request, so a proxy in front of the gateway must pass on the `Host` header.
 */
export function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const { host, origin } = headers;
  const site = headers['sec-fetch-site'];
  if (site === undefined) return origin !== undefined && isOriginOf(origin, host);
  return site === 'same-origin' && (origin === undefined || origin === 'null' || isOriginOf(origin, host));
}

/** True if an origin has exactly this host and port. A default port may be left out. */
function isOriginOf(origin: string, host: string | undefined): boolean {
  if (host === undefined || !/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const url = new URL(origin);
  const own = `${url.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).origin === url.origin;
}
