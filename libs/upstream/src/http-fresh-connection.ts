import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

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

  /** @param beginBy by `performance.now()` */
  constructor(secure: boolean, beginBy = Infinity) {
    this.agent = secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
    const open = this.agent.createConnection.bind(this.agent);
    this.agent.createConnection = (options, handOver): undefined => {
      const socket = open(options);
      this.socket = socket;
      if (socket == null) throw new Error('an agent made no connection');
      const failed = (error: Error): void => handOver?.(error, socket);
      socket.once('error', failed);
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        socket.off('error', failed);
        if (performance.now() > beginBy) {
          this.tooLate = true;
          socket.destroy();
          handOver?.(new Error('too late'), socket);
          return;
        }
        this.established = true;
        handOver?.(null, socket);
      });
      return undefined;
    };
  }

  close(): void {
    this.socket?.destroy();
    this.agent.destroy();
  }
}
