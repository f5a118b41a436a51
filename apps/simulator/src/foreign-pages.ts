import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';

/** Names that public DNS does not serve: without a dot, or below a reserved top-level domain. */
const LOCAL_NAME = /^[^.]+$|\.(localhost|local|internal|test)$/;

/**
 * Refuses requests of web pages that are not pages of the simulator, because every page that a developer opens can
 * send requests to the developer's machine. The headers of a request show whether a page of another site sent it. If
 * that page made its own host name resolve to the simulator (DNS rebinding), only the host name in the request shows
 * this.
 */
export function refuseForeignPages(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  const message = isOfAnotherSite(request)
    ? 'Pages of other sites may not use the simulator.'
    : isPublicName(request.hostname)
      ? 'Open the simulator by an IP address, a host name without a dot, or a name that ends with .localhost, .local, .internal or .test.'
      : undefined;
  if (message === undefined) done();
  else void reply.code(403).send({ error: 'forbidden', field: null, message });
}

/** Browsers send `Sec-Fetch-Site` only to trustworthy addresses such as localhost, but always `Origin` with a POST. */
function isOfAnotherSite({ headers, host }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  return origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
}

function isPublicName(name: string): boolean {
  const address = name.replace(/^\[(.*)\]$/, '$1');
  return name !== '' && isIP(address) === 0 && !LOCAL_NAME.test(name.toLowerCase());
}
