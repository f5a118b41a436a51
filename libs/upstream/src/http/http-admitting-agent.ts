import { type Agent as HttpAgent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Agent as HttpsAgent, request as secureRequest, type RequestOptions } from 'node:https';
import type { TokenExpiryCheck } from '../budget/token-expiry-check.js';

/** The part of Node.js' `http` and `https` modules with which axios starts requests. */
export interface HttpTransport {
  request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest;
}

/** Options of a request. Node.js passes them on to the agent. */
interface CheckedOptions extends RequestOptions {
  /** The check that the request must pass before it gets a new connection; see {@link TokenExpiryCheck}. */
  tokenExpiryCheck?: TokenExpiryCheck | undefined;
}

/**
 * Returns a transport that passes the check of one request to the request's agent. The agent, which must be from
 * {@link awaitTokenExpiryCheckBeforeConnecting}, awaits the check before it hands over a new connection.
 *
 * An `AsyncLocalStorage` could carry the check too, but in Node.js 20 it makes each promise of the process slower
 * from its first use on.
 */
export function transportWithTokenExpiryCheck(
  url: string,
  tokenExpiryCheck: TokenExpiryCheck | undefined,
): HttpTransport {
  const start = url.startsWith('https:') ? secureRequest : request;
  return {
    request: (options, onResponse) => {
      const checked: CheckedOptions = { ...options, tokenExpiryCheck };
      return start(checked, onResponse);
    },
  };
}

/**
 * Makes an agent await the request's {@link TokenExpiryCheck}, the check of its token, before it hands over a new
 * connection. Connecting and the TLS handshake take time, in which a token may expire.
 */
export function awaitTokenExpiryCheckBeforeConnecting<Agent extends HttpAgent>(agent: Agent): Agent {
  const open = agent.createConnection.bind(agent);
  const ready = agent instanceof HttpsAgent ? 'secureConnect' : 'connect';
  agent.createConnection = (options: CheckedOptions, handOver): undefined => {
    const check = options.tokenExpiryCheck ?? ((): Promise<void> => Promise.resolve());
    const socket = open(options);
    if (socket == null) throw new Error('an agent made no connection');
    const failed = (error: Error): void => handOver?.(error, socket);
    socket.once('error', failed);
    socket.once(ready, () => {
      const begin = (): void => {
        socket.off('error', failed);
        handOver?.(socket.destroyed ? new Error('the connection was closed') : null, socket);
      };
      const refuse = (error: unknown): void => {
        socket.off('error', failed);
        socket.destroy();
        handOver?.(error instanceof Error ? error : new Error(String(error)), socket);
      };
      check().then(begin, refuse);
    });
    return undefined;
  };
  return agent;
}
