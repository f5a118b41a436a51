import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from './fault-kinds.js';
import type { Ledger } from './ledger.js';

/** What is recorded about a request that has not ended. */
interface RequestNote {
  readonly requestId: string;
  fault: string | null;
}

/** Records each request in the ledger at the end of its exchange. */
export class RequestLog {
  readonly #noted = new WeakMap<FastifyRequest, RequestNote>();
  /** Start time of this run. Keeps request ids unique over several runs with one state file. */
  readonly #run = Date.now().toString(36);
  #count = 0;

  constructor(private readonly ledger: Ledger) {}

  begin(request: FastifyRequest, reply: FastifyReply, keyOk: boolean): void {
    this.#count += 1;
    const noted: RequestNote = { requestId: `req-${this.#run}-${this.#count}`, fault: null };
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
