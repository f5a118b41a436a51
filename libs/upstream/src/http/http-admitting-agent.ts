import { AsyncLocalStorage } from 'node:async_hooks';
import type { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { TokenExpiryCheck } from '../budget/token-expiry-check.js';

/** The check that the request being started must pass before it gets a connection; see {@link TokenExpiryCheck}. */
const current = new AsyncLocalStorage<TokenExpiryCheck | undefined>();

/**
 * Starts a request that uses an agent from {@link agentWithTokenExpiryCheck}. The agent awaits `admission`
 * before it hands over a new connection.
 */
export function runWithTokenExpiryCheck<T>(
  admission: TokenExpiryCheck | undefined,
  begin: () => Promise<T>,
): Promise<T> {
  return current.run(admission, begin);
}

/**
 * Makes an agent await the request's {@link TokenExpiryCheck}, the check of its token, before it hands over a new
 * connection. Connecting and the TLS handshake take time, in which a token may expire.
 */
export function agentWithTokenExpiryCheck<Agent extends HttpAgent>(agent: Agent): Agent {
  const open = agent.createConnection.bind(agent);
  const ready = agent instanceof HttpsAgent ? 'secureConnect' : 'connect';
  agent.createConnection = (options, handOver): undefined => {
    const admission = current.getStore() ?? ((): Promise<void> => Promise.resolve());
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
      admission().then(begin, refuse);
    });
    return undefined;
  };
  return agent;
}
