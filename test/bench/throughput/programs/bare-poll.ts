// The least that a poller could do: an axios loop that gets pages of messages and parses them.
import { Agent } from 'node:http';
import axios from 'axios';
import { serveRequests } from '../program.js';

/** What to read, and for how long. */
export interface BarePollRequest {
  port: number;
  contacts: number;
  concurrency: number;
  durationMs: number;
}

/** What was read. */
export interface BarePollResult {
  count: number;
  /** Pages per second. */
  rate: number;
}

serveRequests(() => Promise.resolve(poll));

async function poll(request: BarePollRequest): Promise<BarePollResult> {
  const { port, contacts, concurrency, durationMs } = request;
  const httpAgent = new Agent({ keepAlive: true });
  const http = axios.create({ baseURL: `http://127.0.0.1:${port}/v1`, httpAgent, proxy: false });
  let count = 0;
  const began = performance.now();
  const reader = async (): Promise<void> => {
    while (performance.now() < began + durationMs) {
      const id = `con_${String(count % contacts).padStart(10, '0')}`;
      count += 1;
      const { data } = await http.get<{ messages: object[] }>(`/contacts/${id}/messages`, {
        params: { page: 1, limit: 20 },
        headers: { 'X-API-Key': 'key-of-the-benchmark', Accept: 'application/json' },
      });
      if (data.messages.length === 0) throw new Error('the page is empty');
    }
  };
  await Promise.all(Array.from({ length: concurrency }, reader));
  const seconds = (performance.now() - began) / 1_000;
  httpAgent.destroy();
  return { count, rate: count / seconds };
}
