// Sends requests over a fixed number of connections, each of which waits for its reply before the next request.
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { monotonicMs } from '../monotonic-clock.js';
import { serveRequests } from '../program.js';

/** What to send, and for how long. */
export interface LoadRequest {
  port: number;
  path: string;
  headers: Record<string, string>;
  /** JSON text. `{n}` becomes a number that differs in each request and has seven digits. */
  body: string;
  /** How many different values `{n}` has, at most nine million. Absent: nine million. */
  distinct?: number;
  /** True to give each request an `Idempotency-Key` of its own. */
  idempotent: boolean;
  connections: number;
  durationMs: number;
  /** Number of requests a second. Absent: as many as possible. */
  rate?: number;
  /** True to report when each reply arrived. The number of a request is `{n}`. */
  timed?: boolean;
}

/** What a load has met. */
export interface LoadResult {
  /** Number of replies with status 2xx. */
  count: number;
  /** Replies with status 2xx per second. */
  rate: number;
  /** Durations of the requests, in milliseconds. */
  p50: number;
  p99: number;
  /** Number of other replies and of failed requests, by their status or error code. */
  failures: Record<string, number>;
  /** If asked for: by number of a request, when its reply arrived, in ms of the clock of `monotonicMs`. */
  repliedAt?: [number: number, at: number][];
}

let sent = 0;

serveRequests(() => Promise.resolve(load));

async function load(request: LoadRequest): Promise<LoadResult> {
  const pool = new Pool(`http://127.0.0.1:${request.port}`, {
    connections: request.connections,
    pipelining: 1,
  });
  const failures: Record<string, number> = {};
  const durations: number[] = [];
  const repliedAt: [number, number][] = [];
  const began = performance.now();
  const connection = async (first: number): Promise<void> => {
    for (let n = first; performance.now() < began + request.durationMs; n += request.connections) {
      const due = request.rate === undefined ? 0 : began + (n / request.rate) * 1_000;
      await waitUntil(due);
      const start = Math.max(performance.now(), due);
      const { outcome, number } = await send(pool, request);
      if (outcome === 'ok') durations.push(performance.now() - start);
      else failures[outcome] = (failures[outcome] ?? 0) + 1;
      if (request.timed === true) repliedAt.push([number, monotonicMs()]);
    }
  };
  await Promise.all(Array.from({ length: request.connections }, (_, first) => connection(first)));
  const seconds = (performance.now() - began) / 1_000;
  await pool.close();
  durations.sort((a, b) => a - b);
  const quantile = (q: number): number => durations[Math.floor(durations.length * q)] ?? Number.NaN;
  return {
    count: durations.length,
    rate: durations.length / seconds,
    p50: quantile(0.5),
    p99: quantile(0.99),
    failures,
    ...(request.timed === true && { repliedAt }),
  };
}

async function send(
  pool: Pool,
  { path, headers, body, idempotent, distinct = 9_000_000 }: LoadRequest,
): Promise<{ outcome: string; number: number }> {
  sent += 1;
  const number = 1_000_000 + (sent % distinct);
  try {
    const reply = await pool.request({
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/json',
        ...headers,
        ...(idempotent && { 'idempotency-key': randomUUID() }),
      },
      body: body.replaceAll('{n}', String(number)),
    });
    await reply.body.dump();
    return { outcome: reply.statusCode < 300 ? 'ok' : String(reply.statusCode), number };
  } catch (error) {
    return { outcome: error instanceof Error ? error.message : 'error', number };
  }
}

async function waitUntil(due: number): Promise<void> {
  const ms = due - performance.now();
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
