// Receives webhooks: answers every request with 204, and says when a number of requests has arrived.
import { createServer, type Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { serveRequests } from '../program.js';

/** What a receiver does with each request. */
export interface ReceiverSettings {
  /** Time until the answer, in milliseconds. */
  delayMs?: number;
}

/** Without a number, a receiver answers at once with its port. */
export interface ReceiverRequest {
  /** Number of requests to wait for, from the last answer of the receiver. */
  count?: number;
}

export interface Received {
  port: number;
  /** Number of requests since the last answer. */
  count: number;
  /** Time from the first of them to the last, in milliseconds. */
  durationMs: number;
  /** Times from the `sentAt` in a body (milliseconds since 1970) to its receipt, if the bodies have one. */
  delaysMs: number[];
}

/** The time at which an event was made, in its data. */
const SENT_AT = /"sentAt":([0-9.]+)/;

serveRequests(async ({ delayMs = 0 }: ReceiverSettings) => {
  let count = 0;
  let firstAt = 0;
  let delaysMs: number[] = [];
  let onRequest = (): void => undefined;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1');
    request.on('data', (text: string) => (body += text));
    request.on('end', () => {
      const end = (): void => void response.writeHead(204).end();
      if (delayMs > 0) setTimeout(end, delayMs);
      else end();
      count += 1;
      if (count === 1) firstAt = performance.now();
      const sentAt = SENT_AT.exec(body)?.[1];
      if (sentAt !== undefined) delaysMs.push(performance.timeOrigin + performance.now() - Number(sentAt));
      onRequest();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', 4_096, listening));
  const port = portOf(server);
  return async (request: ReceiverRequest): Promise<Received> => {
    const expected = request.count ?? 0;
    if (count < expected) {
      await new Promise<void>((done) => {
        onRequest = () => {
          if (count >= expected) done();
        };
      });
    }
    const received = { port, count, durationMs: performance.now() - firstAt, delaysMs };
    [count, delaysMs] = [0, []];
    onRequest = () => undefined;
    // Lets the last answers leave before the next measurement begins.
    if (expected > 0) await pause(delayMs);
    return received;
  };
});

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
