import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { ApiCheck } from './openapi.js';

/** An event as a webhook receives it. */
export interface ReceivedEvent {
  id: string;
  type: string;
  timestamp: string;
  account: string;
  contactId?: string;
  sequence: number;
  data: Record<string, unknown>;
}

/** A webhook receiver that verifies every signature with the public library and stores the events. */
export class WebhookReceiver implements AsyncDisposable {
  readonly events: ReceivedEvent[] = [];
  /** Requests with an invalid signature or an undocumented body. */
  readonly invalidRequests: string[] = [];
  /** Headers of the requests, in the order of `events`. */
  readonly requestHeaders: IncomingHttpHeaders[] = [];
  /** Signing secret; set after the webhook is created. */
  secret: string | undefined;
  /** Status of the replies to valid requests. */
  status = 204;

  private constructor(
    private readonly server: Server,
    readonly url: string,
    private readonly api: ApiCheck | undefined,
  ) {}

  /** @param api checks the body of each delivery */
  static async start(api?: ApiCheck): Promise<WebhookReceiver> {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const receiver = new WebhookReceiver(server, `http://127.0.0.1:${port}/hook`, api);
    server.on('request', (request, response) => {
      receiver.receive(request).then(
        () => response.writeHead(receiver.status).end(),
        (error: unknown) => {
          receiver.invalidRequests.push(String(error));
          response.writeHead(400).end();
        },
      );
    });
    return receiver;
  }

  /** The events of one type, in order of arrival. */
  eventsOfType(type: string): ReceivedEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  /** Ids of events that arrived more than once. */
  duplicateIds(): string[] {
    const ids = this.events.map(({ id }) => id);
    return ids.filter((id, i) => ids.indexOf(id) !== i);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async receive(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    if (this.secret === undefined) throw new Error('the receiver has no secret yet');
    const event = new Webhook(this.secret).verify(
      body,
      request.headers as Record<string, string>,
    ) as ReceivedEvent;
    if (request.headers['webhook-id'] !== event.id) throw new Error('webhook-id is not the event id');
    this.api?.expectDelivery(event.type, body);
    this.requestHeaders.push(request.headers);
    this.events.push(event);
  }
}
