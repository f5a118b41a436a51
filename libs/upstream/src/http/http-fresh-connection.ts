import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TimeLimit } from '#platform';
import type { Admission } from '../budget/admission.js';

/**
 * An agent for one request over a connection of its own, which tells whether that connection came about.
 * A kept connection that the server closes at the same moment looks like a request that broke half-way;
 * on a fresh one, "never connected" is certain. The request gets its connection only once that stands, and only if it is
 * not too late then: a process that was paused meanwhile writes nothing.
 */
export class FreshConnection {
  /** Whether the connection, with its TLS handshake if there is one, stood: before that, nothing was written. */
  established = false;
  /** Whether the connection stood too late, so that nothing was written on it. */
  tooLate = false;
  readonly agent: HttpAgent | HttpsAgent;
  private socket: Duplex | null | undefined;

  /**
   * @param limit nothing is written once it is over
   * @param admission awaited once the connection stands
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
