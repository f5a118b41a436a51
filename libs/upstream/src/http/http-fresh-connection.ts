import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TimeLimit } from '#platform';
import type { Admission } from '../budget/admission.js';

/**
 * HTTP agent that gives one request a new connection, and says whether that connection was established. A kept
 * connection that the server closes looks like a request that broke half-way. With a new connection, "never
 * connected" is certain. The request gets its connection only once the connection is established, and only
 * before the time limit: a process that was paused until after the limit writes nothing.
 */
export class FreshConnection {
  /** True if the connection, including a TLS handshake, was established. Before that, nothing was written. */
  established = false;
  /** True if the connection was established too late, so that nothing was written. */
  tooLate = false;
  readonly agent: HttpAgent | HttpsAgent;
  private socket: Duplex | null | undefined;

  /**
   * @param limit nothing is written after this time limit
   * @param admission awaited once the connection is established
   */
  constructor(secure: boolean, limit?: TimeLimit, admission: Admission = () => Promise.resolve()) {
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
