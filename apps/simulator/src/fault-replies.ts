import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import type { Answer } from './answers.js';
import { JSON_TYPE, jsonAnswer, sendAnswer } from './answers.js';
import type { Fault, StatusFault } from './fault-kinds.js';
import type { HeldExchanges } from './held-exchanges.js';

/** One request and its reply. */
export interface Exchange {
  readonly reply: FastifyReply;
  readonly held: HeldExchanges;
  /** Time after which a hanging exchange is dropped, in milliseconds. */
  readonly hangCapMs: number;
  /** Processes the request and returns the correct reply. Called at most once. */
  process(fault: Fault | null): Answer;
}

/** Processes a request with its fault, if any. */
export async function replyWithFault(exchange: Exchange, fault: Fault | null): Promise<void> {
  if (fault === null) {
    sendAnswer(exchange.reply, exchange.process(null));
    return;
  }
  const { reply } = exchange;
  switch (fault.kind) {
    case 'status':
    case 'statusAfter':
      replyInstead(exchange, fault, fault.processed, statusAnswer(fault));
      return;
    case 'html':
      replyInstead(exchange, fault, fault.processed, htmlAnswer(fault.status));
      return;
    case 'emptyObject':
      replyInstead(exchange, fault, fault.processed, jsonAnswer(200, {}));
      return;
    case 'errorBody200':
      replyInstead(exchange, fault, fault.processed, jsonAnswer(200, fault.body));
      return;
    case 'timeoutBefore':
      exchange.held.hang(reply, exchange.hangCapMs);
      return;
    case 'timeoutAfter':
      exchange.process(fault);
      exchange.held.hang(reply, exchange.hangCapMs);
      return;
    case 'resetBefore':
    case 'resetDuringUpload':
      reset(reply);
      return;
    case 'resetAfter':
      exchange.process(fault);
      reset(reply);
      return;
    case 'truncatedJson':
      truncate(reply, exchange.process(fault), fault.cut);
      return;
    case 'slow':
      await replySlowly(exchange, fault);
      return;
    case 'drip':
      await drip(exchange, exchange.process(fault), fault.bytes, fault.intervalMs);
      return;
    case 'invalidUtf8':
    case 'poisonMessage':
      sendAnswer(reply, exchange.process(fault));
      return;
  }
}

function replyInstead(exchange: Exchange, fault: Fault, processed: boolean, answer: Answer): void {
  if (processed) exchange.process(fault);
  sendAnswer(exchange.reply, answer);
}

function statusAnswer({ status, body, contentType, retryAfter, location }: StatusFault): Answer {
  const headers: Record<string, string> = {};
  if (retryAfter !== null) headers['retry-after'] = retryAfter;
  if (location !== null) headers['location'] = location;
  return { status, body: typeof body === 'string' ? body : JSON.stringify(body), contentType, headers };
}

function htmlAnswer(status: number): Answer {
  const body =
    '<!doctype html><html><head><title>Gateway</title></head><body><h1>Please wait…</h1></body></html>';
  return { status, body, contentType: 'text/html; charset=utf-8' };
}

function reset(reply: FastifyReply): void {
  reply.hijack();
  const { socket } = reply.raw;
  if (socket === null) reply.raw.destroy();
  else socket.resetAndDestroy();
}

function truncate(reply: FastifyReply, answer: Answer, cut: 'body' | 'connection'): void {
  const whole = Buffer.from(answer.body);
  const half = whole.subarray(0, Math.max(1, whole.length >> 1));
  if (cut === 'body') {
    sendAnswer(reply, { status: answer.status, contentType: answer.contentType, body: half });
    return;
  }
  reply.hijack();
  reply.raw.writeHead(answer.status, { 'content-type': answer.contentType, 'content-length': whole.length });
  // Close the socket only after the first half has been sent. A client that has disconnected makes no
  // difference.
  reply.raw.write(half, () => reply.raw.destroy());
}

/** Processes the request after a delay even if the client has disconnected, like a proxy with a queue. */
async function replySlowly(exchange: Exchange, fault: Fault & { readonly kind: 'slow' }): Promise<void> {
  const { reply, held } = exchange;
  const earlyAnswer = fault.processedFirst ? exchange.process(fault) : null;
  const isOver = await held.wait(fault.delayMs);
  if (!isOver) {
    reply.hijack();
    reply.raw.destroy();
    return;
  }
  sendAnswer(reply, earlyAnswer ?? exchange.process(fault));
}

async function drip(exchange: Exchange, answer: Answer, size: number, intervalMs: number): Promise<void> {
  const { reply, held } = exchange;
  const bytes = Buffer.from(answer.body);
  const deadline = Date.now() + exchange.hangCapMs;
  reply.hijack();
  reply.raw.writeHead(answer.status, { 'content-type': JSON_TYPE, 'content-length': bytes.length });
  for (let at = 0; at < bytes.length && !reply.raw.destroyed; at += size) {
    if (!reply.raw.write(bytes.subarray(at, at + size)))
      await Promise.race([once(reply.raw, 'drain'), once(reply.raw, 'close')]);
    if (Date.now() >= deadline || !(await held.wait(intervalMs))) {
      reply.raw.destroy();
      return;
    }
  }
  reply.raw.end();
}
