import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** An upstream with very many contacts. Each has one old message, which is generated when it is read. */
export class LargeUpstream implements AsyncDisposable {
  /** Base address, including `/v1`. */
  readonly baseUrl: string;
  /** Time of the first request for the contact list, in milliseconds since 1970. */
  firstListAt: number | undefined;
  pages = 0;
  lists = 0;

  private constructor(
    private readonly server: Server,
    private readonly list: Buffer,
    private readonly timestamp: string,
  ) {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    this.baseUrl = `http://127.0.0.1:${address.port}/v1`;
  }

  static async start(contacts: number): Promise<LargeUpstream> {
    const shown = Array.from({ length: contacts }, (_, n) => ({
      id: idOf(n),
      name: `Contact ${n}`,
      phoneNumber: `+1556${String(n).padStart(7, '0')}`,
    }));
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const list = Buffer.from(JSON.stringify({ contacts: shown }));
    const upstream = new LargeUpstream(server, list, new Date(Date.now() - 86_400_000).toISOString());
    server.on('request', ({ url }, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(upstream.answer(url ?? ''));
    });
    return upstream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private answer(url: string): Buffer | string {
    const id = /\/contacts\/([^/]+)\/messages/.exec(url)?.[1];
    if (id === undefined) {
      this.firstListAt ??= Date.now();
      this.lists += 1;
      return this.list;
    }
    this.pages += 1;
    const isFirst = !/[?&]page=(?!1(?:&|$))/.test(url);
    return JSON.stringify({ messages: isFirst ? [this.messageOf(id)] : [] });
  }

  private messageOf(contactId: string): object {
    return {
      id: `msg_of_${contactId}`,
      from: '+15561234567',
      to: '+15550000000',
      direction: 'inbound',
      message: 'Old',
      timestamp: this.timestamp,
      attachments: [],
      service: 'iMessage',
      status: { read: false, delivered: true },
    };
  }
}

/** An id with the length of the simulator's ids. */
function idOf(n: number): string {
  return `con_${n.toString(16).padStart(16, '0')}`;
}
