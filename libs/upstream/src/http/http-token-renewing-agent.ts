import { type Agent as HttpAgent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Agent as HttpsAgent, request as secureRequest, type RequestOptions } from 'node:https';
import type { BudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import { BudgetTokenRenewalError } from './http-failure.js';

/** The part of Node.js' `http` and `https` modules with which axios starts requests. */
export interface HttpTransport {
  request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest;
}

/** Options of an HTTP request that renews its token of the budget. Node.js passes all options on to the agent. */
interface RenewingOptions extends RequestOptions {
  /** Is awaited before the request gets a new connection; see {@link BudgetTokenRenewal}. */
  budgetTokenRenewal?: BudgetTokenRenewal | undefined;
  /** Closes the new connection when it aborts, as long as the request does not have the connection yet. */
  connectSignal?: AbortSignal;
}

/**
 * Returns a transport for one request. The transport passes the request's {@link BudgetTokenRenewal} and its signal
 * to the agent. The agent must come from {@link addBudgetTokenRenewalToAgent}.
 *
 * An `AsyncLocalStorage` could also pass the renewal, but in Node.js 20 it slows down every promise of the process.
 */
export function createTransportWithBudgetTokenRenewal(
  url: string,
  budgetTokenRenewal: BudgetTokenRenewal | undefined,
  connectSignal: AbortSignal,
): HttpTransport {
  const start = url.startsWith('https:') ? secureRequest : request;
  return {
    request: (options, onResponse) => {
      const renewing: RenewingOptions = { ...options, budgetTokenRenewal, connectSignal };
      return start(renewing, onResponse);
    },
  };
}

/**
 * Changes an agent so that no request is written to a new connection before the request's {@link BudgetTokenRenewal}
 * has resolved. The request's token of the budget may expire while the agent connects. If the renewal rejects, the
 * request fails with a {@link BudgetTokenRenewalError}.
 */
export function addBudgetTokenRenewalToAgent<Agent extends HttpAgent>(agent: Agent): Agent {
  const open = agent.createConnection.bind(agent);
  const ready = agent instanceof HttpsAgent ? 'secureConnect' : 'connect';
  agent.createConnection = (options: RenewingOptions, handOver): undefined => {
    const renew = options.budgetTokenRenewal ?? ((): Promise<void> => Promise.resolve());
    const socket = open(options);
    if (socket == null) throw new Error('an agent made no connection');
    // Node.js knows the connection only after the handover, so an abort of the request does not close it before.
    const abort = (): void => void socket.destroy(new Error('aborted'));
    options.connectSignal?.addEventListener('abort', abort, { once: true });
    const end = (error: Error | null): void => {
      socket.off('error', end);
      options.connectSignal?.removeEventListener('abort', abort);
      handOver?.(error, socket);
    };
    socket.once('error', end);
    socket.once(ready, () => {
      const begin = (): void => {
        end(socket.destroyed ? new Error('the connection was closed') : null);
      };
      const refuse = (error: unknown): void => {
        socket.destroy();
        end(new BudgetTokenRenewalError(error));
      };
      renew().then(begin, refuse);
    });
    return undefined;
  };
  return agent;
}
