import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { ForbiddenDestinationError } from '../endpoint/endpoint.js';
import type { DestinationGuard } from './destination-guard.js';
import type { Resolver } from './resolver.js';
import { normalizedHostOf } from './webhook-url.js';

/** Time after which an unused connection is closed, in milliseconds. */
const IDLE_TIMEOUT_MS = 4_000;
/** Max size of the headers of a reply, in bytes. */
export const MAX_HEADER_BYTES = 16_384;

/** What a pool needs to open connections. */
export interface GuardedConnections {
  guard: DestinationGuard;
  resolve: Resolver;
  /** Timeout of opening a connection, in milliseconds. */
  timeoutMs: number;
}

/**
 * Opens a pool of connections to an origin (scheme, host and port). Each new connection resolves the host name, and
 * fails if one of the addresses is forbidden. The address of the connected peer is checked again before anything is
 * sent.
 */
export function openGuardedPool(origin: string, connections: GuardedConnections): Pool {
  return new Pool(origin, {
    connect: connectorOf(new URL(origin).protocol, connections),
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Undici's own timeouts are off, because the client limits the whole request.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function connectorOf(
  protocol: string,
  { guard, resolve, timeoutMs }: GuardedConnections,
): buildConnector.connector {
  const dial = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: true,
    lookup: lookupOf(protocol, guard, resolve),
  });
  return (options, callback) => {
    const literal = normalizedHostOf(options);
    const refusal = isIP(literal) === 0 ? undefined : guard.refusal(protocol, literal);
    if (refusal !== undefined) {
      queueMicrotask(() => {
        callback(new ForbiddenDestinationError(refusal), null);
      });
      return;
    }
    dial(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const peerRefusal = guard.refusal(protocol, socket.remoteAddress ?? 'the unknown peer');
      if (peerRefusal === undefined) {
        callback(null, socket);
      } else {
        socket.destroy();
        callback(new ForbiddenDestinationError(peerRefusal), null);
      }
    });
  };
}

function lookupOf(protocol: string, guard: DestinationGuard, resolve: Resolver): LookupFunction {
  const resolveAllowed = async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolve(hostname);
    guard.check({ protocol, hostname }, addresses);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (hostname, options, callback) => {
    resolveAllowed(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) callback(new Error(`${hostname} has no address`), '');
        else if (options.all === true) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => {
        callback(error instanceof Error ? error : new Error(String(error)), '');
      },
    );
  };
}
