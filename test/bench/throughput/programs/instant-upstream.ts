// An upstream that answers at once from prepared buffers, with as little work of its own as possible. It accepts every
// send, has one contact for each recipient and shows no messages. It records when the sends arrive.
import { createServer, type Socket } from 'node:net';
import { monotonicMs } from '../monotonic-clock.js';
import { serveRequests } from '../program.js';

/** Settings of the program. */
export interface UpstreamSettings {
  /** Phone numbers of the contacts. */
  recipients: readonly string[];
}

/** What to do: `start` forgets earlier sends; `wait` answers once this number of sends arrived since `start`. */
export type UpstreamRequest = { start: true } | { wait: number };

/** Sends that arrived since `start`. */
export interface Arrivals {
  count: number;
  /** Sends per second, from the first to the last. */
  rate: number;
  /** By the number that a text contains as `#123#`: when it arrived, in ms of the clock of `monotonicMs`. */
  arrivedAt: [number: number, at: number][];
}

const NUMBER = /#(\d+)#/;
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const END_OF_HEAD = '\r\n\r\n';

let count = 0;
let firstAt = 0;
let lastAt = 0;
let arrivedAt: [number, number][] = [];
let awaited: { count: number; done: () => void } | undefined;

serveRequests(async ({ recipients }: UpstreamSettings) => {
  const replies = {
    queued: reply({ status: 'queued', message: 'Message queued' }),
    contacts: reply({
      contacts: recipients.map((phoneNumber, n) => ({ id: `contact-${n}`, phoneNumber })),
    }),
    messages: reply({ messages: [] }),
  };
  const server = createServer({ noDelay: true }, (socket) => {
    serve(socket, (head, body) => {
      if (head.startsWith('POST')) {
        recordArrival(body);
        return replies.queued;
      }
      return head.includes('/messages') ? replies.messages : replies.contacts;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4_096, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return async (request: UpstreamRequest | { port: true }): Promise<object> => {
    if ('port' in request) return { port: address.port };
    if ('start' in request) {
      count = 0;
      arrivedAt = [];
      return {};
    }
    if (count < request.wait)
      await new Promise<void>((done) => {
        awaited = { count: request.wait, done };
      });
    return { count, rate: ((count - 1) * 1_000) / (lastAt - firstAt), arrivedAt } satisfies Arrivals;
  };
});

/** Reads requests from a connection, one after another, and writes their replies. */
function serve(
  socket: Socket,
  replyTo: (head: string, body: string) => { open: Buffer; last: Buffer },
): void {
  let text = '';
  socket.setEncoding('latin1');
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    text += chunk;
    for (;;) {
      const end = text.indexOf(END_OF_HEAD);
      if (end < 0) return;
      const head = text.slice(0, end);
      const start = end + END_OF_HEAD.length;
      const length = Number(LENGTH.exec(head)?.[1] ?? 0);
      if (text.length < start + length) return;
      const { open, last } = replyTo(head, text.slice(start, start + length));
      text = text.slice(start + length);
      if (/\r\nconnection: *close/i.test(head)) socket.end(last);
      else socket.write(open);
    }
  });
}

function recordArrival(body: string): void {
  lastAt = monotonicMs();
  if (count === 0) firstAt = lastAt;
  count += 1;
  const number = NUMBER.exec(body)?.[1];
  if (number !== undefined) arrivedAt.push([Number(number), lastAt]);
  if (awaited !== undefined && count >= awaited.count) {
    awaited.done();
    awaited = undefined;
  }
}

function reply(body: object): { open: Buffer; last: Buffer } {
  const text = JSON.stringify(body);
  const head = (connection: string): string =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: ${connection}\r\n\r\n`;
  return { open: Buffer.from(head('keep-alive') + text), last: Buffer.from(head('close') + text) };
}
