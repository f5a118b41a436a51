import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { JsonObject } from './json.js';

/** A reply, ready to be sent or to be spoilt. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Blanks are put before the body until it has so many bytes. */
  readonly padTo?: number;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

export function jsonAnswer(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body), contentType: JSON_TYPE };
}

/** An error as this upstream words it. */
export function errorAnswer(status: number, error: string, message: string): Answer {
  const body: JsonObject = { statusCode: status, error, message };
  return jsonAnswer(status, body);
}

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
  void reply.send(Readable.from(padded(padding, body), { objectMode: false, highWaterMark: BLANKS.length }));
}

const BLANKS = Buffer.alloc(65_536, ' ');

/** The blanks come first: no client has the whole list before it has read them all. */
function* padded(padding: number, body: string | Buffer): Generator<Buffer> {
  for (let left = padding; left > 0; left -= BLANKS.length)
    yield left >= BLANKS.length ? BLANKS : BLANKS.subarray(0, left);
  yield Buffer.from(body);
}
