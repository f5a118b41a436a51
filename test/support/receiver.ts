import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A webhook receiver whose reply the test chooses. */
export class Receiver implements AsyncDisposable {
  readonly requests: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
  status = 204;
  reply = '';
  /** Number of requests that are answered. Later requests wait until {@link answerAll}. */
  answers = Infinity;
  private readonly waiting: ServerResponse[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const receiver = new Receiver(server, `http://127.0.0.1:${port}/hook`);
    server.on('request', (request, response) => {
      void buffer(request).then((body) => {
        receiver.requests.push({ headers: request.headers, body });
        if (receiver.requests.length > receiver.answers) receiver.waiting.push(response);
        else receiver.answer(response);
      });
    });
    return receiver;
  }

  /** Answers 204 without a text, and forgets the requests. */
  reset(): void {
    Object.assign(this, { status: 204, reply: '', answers: Infinity });
    this.requests.length = 0;
  }

  /** Answers the requests that wait, and each one from now on. */
  answerAll(): void {
    this.answers = Infinity;
    for (const response of this.waiting.splice(0)) this.answer(response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private answer(response: ServerResponse): void {
    response.writeHead(this.status, { 'content-type': 'text/html' }).end(this.reply);
  }
}
