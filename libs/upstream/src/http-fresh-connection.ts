import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

/**
 * An agent for one request over a connection of its own, which tells whether that connection came about.
 * A kept connection that the server closes at the same moment looks like a request that broke half-way;
 * on a fresh one, "never connected" is certain.
 */
export class FreshConnection {
  /** Whether the connection, with its TLS handshake if there is one, stood: before that, nothing was written. */
  established = false;
  readonly agent: HttpAgent | HttpsAgent;

  constructor(secure: boolean) {
    this.agent = secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
    const open = this.agent.createConnection.bind(this.agent);
    this.agent.createConnection = (options, callback): Duplex | null | undefined => {
      const socket = open(options, callback);
      socket?.once(secure ? 'secureConnect' : 'connect', () => {
        this.established = true;
      });
      return socket;
    };
  }

  close(): void {
    this.agent.destroy();
  }
}
