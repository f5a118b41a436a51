import { type Agent as HttpAgent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Agent as HttpsAgent, request as secureRequest, type RequestOptions } from 'node:https';
import type { BudgetTokenCheck } from '../budget/budget-token-check.js';
import { BudgetTokenCheckError } from './http-failure.js';

/** The part of Node.js' `http` and `https` modules with which axios starts requests. */
export interface HttpTransport {
  request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest;
}

/** Options of an HTTP request, with the token check. Node.js passes all options on to the agent. */
interface CheckedOptions extends RequestOptions {
  /** The check that the request must pass before it gets a new connection; see {@link BudgetTokenCheck}. */
  budgetTokenCheck?: BudgetTokenCheck | undefined;
  /** Closes the new connection when it aborts, as long as the request does not have the connection yet. */
  connectSignal?: AbortSignal;
}

/**
 * Returns a transport for one request. The transport passes the request's {@link BudgetTokenCheck} and its signal to
 * the agent. The agent must come from {@link addBudgetTokenCheckToAgent}.
 *
 * An `AsyncLocalStorage` could also pass the check, but in Node.js 20 it slows down every promise of the process.
 */
export function createTransportWithBudgetTokenCheck(
  url: string,
  budgetTokenCheck: BudgetTokenCheck | undefined,
  connectSignal: AbortSignal,
): HttpTransport {
  const start = url.startsWith('https:') ? secureRequest : request;
  return {
    request: (options, onResponse) => {
      const checked: CheckedOptions = { ...options, budgetTokenCheck, connectSignal };
      return start(checked, onResponse);
    },
  };
}

/**
 * Changes an agent so that no request is written to a new connection before the request's {@link BudgetTokenCheck} has
 * resolved. The request's token of the budget may expire while the agent connects. If the check rejects, the request
 * fails with a {@link BudgetTokenCheckError}.
 */
export function addBudgetTokenCheckToAgent<Agent extends HttpAgent>(agent: Agent): Agent {
  const open = agent.createConnection.bind(agent);
  const ready = agent instanceof HttpsAgent ? 'secureConnect' : 'connect';
  agent.createConnection = (options: CheckedOptions, handOver): undefined => {
    const check = options.budgetTokenCheck ?? ((): Promise<void> => Promise.resolve());
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
        end(new BudgetTokenCheckError(error));
      };
      check().then(begin, refuse);
    });
    return undefined;
  };
  return agent;
}
