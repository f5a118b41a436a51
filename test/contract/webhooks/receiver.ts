import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pause } from '#platform';

/** A request that a receiver received. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Reply of a receiver. `hang` means that the receiver never replies. */
export type Answer =
  | {
      status: number;
      headers?: Record<string, string>;
      afterMs?: number;
      /** Called immediately before the reply is written. */
      onReply?: () => void;
    }
  | 'hang';

/** HTTP server of a webhook that records the requests it receives. */
export class Receiver {
  readonly received: Received[] = [];
  /** Max number of concurrent requests so far. */
  maxConcurrent = 0;
  private underWay = 0;

  private constructor(
    private readonly server: Server,
    /** Returns the reply to a request. `count` is the number of the request, counted from 1. */
    public answer: (request: Received, count: number) => Answer,
  ) {}

  static async start(
    answer: (request: Received, count: number) => Answer = () => ({ status: 204 }),
  ): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server, answer);
    server.on('request', (request, response) => {
      receiver.maxConcurrent = Math.max(receiver.maxConcurrent, ++receiver.underWay);
      response.on('close', () => receiver.underWay--);
      text(request).then(
        async (body) => {
          const got = { path: request.url ?? '', headers: request.headers, body };
          const reply = receiver.answer(got, receiver.received.push(got));
          if (reply === 'hang') return;
          if (reply.afterMs !== undefined) await pause(reply.afterMs);
          reply.onReply?.();
          response.writeHead(reply.status, reply.headers).end();
        },
        () => response.destroy(),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
