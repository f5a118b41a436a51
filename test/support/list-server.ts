import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Size of one write, in bytes. */
const CHUNK_BYTES = 64 * 1024;

/** The contact list that a {@link ListServer} serves. */
export interface ServedList {
  count: number;
  /** Approximate size of one contact, in bytes. */
  bytes: number;
  /** After this number of contacts, the connection breaks, or the reply ends as if it were complete. */
  cut?: { after: number; how: 'connection' | 'body' };
  /** Replaces the contact with this number in the list. */
  poison?: { at: number; json: string };
  /** Value of the field `note` of all contacts. */
  note?: string;
  /** JSON before and after the list. */
  envelope?: readonly [before: string, after: string];
}

/** Serves a contact list of any length, which is generated while it is sent. */
export class ListServer {
  list: ServedList = { count: 0, bytes: 0 };

  private constructor(private readonly server: Server) {
    server.on('request', (_, response: ServerResponse) => {
      void this.answer(response);
    });
  }

  static async start(): Promise<ListServer> {
    const server = createServer();
    const started = new ListServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return started;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async answer(response: ServerResponse): Promise<void> {
    response.writeHead(200, { 'content-type': 'application/json' });
    const { cut } = this.list;
    try {
      await pipeline(Readable.from(chunksOf(this.list)), response, { end: cut?.how !== 'connection' });
      if (cut?.how === 'connection') response.destroy();
    } catch {
      // The reader disconnected.
    }
  }
}

/** Id of the contact with this number. */
export const contactIdOf = (n: number): string => `con_${n.toString(16).padStart(16, '0')}`;

/** The contact with this number, as JSON. */
function contactJson(n: number, { bytes, note = '' }: ServedList): string {
  const head = `{"id":"${contactIdOf(n)}","phoneNumber":"+1555${String(n).padStart(7, '0')}","note":"${note}","about":"`;
  return `${head}${'abcdefghijklmnop '.repeat(Math.max(0, Math.ceil((bytes - head.length) / 17)))}"}`;
}

function* chunksOf(list: ServedList): Generator<Buffer> {
  const { count, cut, poison, envelope = ['{"contacts":[', ']}'] } = list;
  let text = envelope[0];
  const shown = Math.min(count, cut?.after ?? count);
  for (let n = 0; n < shown; n += 1) {
    text += (n === 0 ? '' : ',') + (poison?.at === n ? poison.json : contactJson(n, list));
    if (text.length > CHUNK_BYTES) {
      yield Buffer.from(text);
      text = '';
    }
  }
  yield Buffer.from(cut === undefined ? text + envelope[1] : text);
}
