import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TimeLimit } from '#platform';
import type { TokenExpiryCheck } from '../budget/token-expiry-check.js';

/**
 * HTTP agent that opens a new connection for one request, and knows whether the connection was established.
 * If the connection was not established, upstream certainly did not receive the request; with a reused
 * connection this would be uncertain. After the time limit, the request gets no connection. So a process that
 * was paused until after the limit writes nothing.
 */
export class FreshConnectionAgent {
  /**
   * True if the connection, including a TLS handshake, was established. While this is false, nothing was
   * written.
   */
  established = false;
  /** True if nothing was written, because the time limit was over or `admission` rejected. */
  tooLate = false;
  readonly agent: HttpAgent | HttpsAgent;
  private socket: Duplex | null | undefined;

  /**
   * @param secure true for HTTPS, false for HTTP
   * @param limit time limit after which nothing is written
   * @param admission check that is awaited once the connection is established; if it rejects, nothing is
   * written
   */
  constructor(secure: boolean, limit?: TimeLimit, admission: TokenExpiryCheck = () => Promise.resolve()) {
    this.agent = secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
    const open = this.agent.createConnection.bind(this.agent);
    this.agent.createConnection = (options, handOver): undefined => {
      const socket = open(options);
      this.socket = socket;
      if (socket == null) throw new Error('an agent made no connection');
      const failed = (error: Error): void => handOver?.(error, socket);
      socket.once('error', failed);
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        const begin = (): void => {
          socket.off('error', failed);
          if (limit?.isOver() === true) {
            refuse();
            return;
          }
          if (socket.destroyed) {
            handOver?.(new Error('the connection was closed'), socket);
            return;
          }
          this.established = true;
          handOver?.(null, socket);
        };
        const refuse = (): void => {
          socket.off('error', failed);
          this.tooLate = true;
          socket.destroy();
          handOver?.(new Error('too late'), socket);
        };
        admission().then(begin, refuse);
      });
      return undefined;
    };
  }

  close(): void {
    this.socket?.destroy();
    this.agent.destroy();
  }
}
