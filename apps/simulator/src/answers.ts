import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { JsonObject } from './json.js';

/** A prepared reply, sent as it is or damaged by a fault. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Size of the body in bytes, reached with spaces before the body. */
  readonly padTo?: number;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Returns a reply with a JSON body. */
export function jsonAnswer(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body), contentType: JSON_TYPE };
}

/** Returns an error reply in this upstream's format. */
export function errorAnswer(status: number, error: string, message: string): Answer {
  const body: JsonObject = { statusCode: status, error, message };
  return jsonAnswer(status, body);
}

/** Sends a prepared reply. */
export function sendAnswer(reply: FastifyReply, answer: Answer): void {
  const { status, body, contentType, headers } = answer;
  void reply.code(status).header('content-type', contentType);
  if (headers !== undefined) void reply.headers(headers);
  const padding = (answer.padTo ?? 0) - Buffer.byteLength(body);
  if (padding <= 0) {
    void reply.send(body);
    return;
  }
  void reply.header('content-length', String(answer.padTo));
  void reply.send(Readable.from(padded(padding, body), { objectMode: false, highWaterMark: SPACES.length }));
}

const SPACES = Buffer.alloc(65_536, ' ');

/**
 * Yields the padding, then the body. A client must therefore read all padding before it has a complete list.
 */
function* padded(padding: number, body: string | Buffer): Generator<Buffer> {
  for (let left = padding; left > 0; left -= SPACES.length)
    yield left >= SPACES.length ? SPACES : SPACES.subarray(0, left);
  yield Buffer.from(body);
}
