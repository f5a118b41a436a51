import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from './fault-kinds.js';
import type { Ledger } from './ledger.js';

interface Noted {
  readonly requestId: string;
  fault: string | null;
}

/** Writes each request to the ledger when its exchange is over, however it ended. */
export class RequestLog {
  readonly #noted = new WeakMap<FastifyRequest, Noted>();
  /** Ids of two runs over one state file must not meet. */
  readonly #run = Date.now().toString(36);
  #count = 0;

  constructor(private readonly ledger: Ledger) {}

  begin(request: FastifyRequest, reply: FastifyReply, keyOk: boolean): void {
    this.#count += 1;
    const noted: Noted = { requestId: `req-${this.#run}-${this.#count}`, fault: null };
    this.#noted.set(request, noted);
    const arrivedAt = performance.timeOrigin + performance.now();
    const { raw } = reply;
    raw.once('close', () => {
      this.ledger.record({
        kind: 'request',
        requestId: noted.requestId,
        method: request.method,
        path: request.url,
        status: raw.headersSent ? raw.statusCode : null,
        fault: noted.fault,
        keyOk,
        arrivedAt,
        durationMs: performance.timeOrigin + performance.now() - arrivedAt,
        aborted: !raw.writableFinished,
        clientRequestId: clientRequestId(request),
      });
    });
  }

  idOf(request: FastifyRequest): string {
    return this.#noted.get(request)?.requestId ?? 'req-unknown';
  }

  noteFault(request: FastifyRequest, fault: Fault | null): void {
    const noted = this.#noted.get(request);
    if (noted !== undefined) noted.fault = fault?.kind ?? null;
  }
}

function clientRequestId(request: FastifyRequest): string | null {
  const value = request.headers['x-request-id'];
  return typeof value === 'string' ? value.slice(0, 200) : null;
}
