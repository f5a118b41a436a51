import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';

/** Names that public DNS does not serve: without a dot, or below a reserved top-level domain. */
const LOCAL_NAME = /^[^.]+$|\.(localhost|local|internal|test)$/;

/**
 * Refuses requests of web pages that are not the simulator's own, because every page that a developer opens can send
 * requests to the developer's machine. A page of another site is recognized by its headers, and a page whose own host name
 * was made to lead to the simulator (DNS rebinding) by this name.
 */
export function refuseForeignPages(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  const message = isOfAnotherSite(request)
    ? 'Pages of other sites may not use the simulator.'
    : isPublicName(request.hostname)
      ? 'Open the simulator by an IP address or a host name without a dot.'
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
