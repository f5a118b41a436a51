// The least that a relay could do: a worker that takes jobs from a queue and posts each as a form, over a connection of
// its own.
import { Agent } from 'node:http';
import axios from 'axios';
import { Queue, Worker } from 'bullmq';
import FormData from 'form-data';
import { serveRequests } from '../program.js';

/** Settings of the program. */
export interface BareRelaySettings {
  redisUrl: string;
  upstreamPort: number;
  /** Number of sends that are posted at the same time. */
  concurrency: number;
}

/** What to do: `add` fills the queue while the worker rests; `run` makes the worker work. */
export type BareRelayRequest = { add: readonly BareSend[] } | { run: true };

export interface BareSend {
  phoneNumber: string;
  message: string;
}

serveRequests(async ({ redisUrl, upstreamPort, concurrency }: BareRelaySettings) => {
  const queue = new Queue<BareSend>('bare', { connection: { url: redisUrl } });
  const http = axios.create({ proxy: false, maxRedirects: 0 });
  const worker = new Worker<BareSend>(
    'bare',
    async ({ data }) => {
      const form = new FormData();
      form.append('phoneNumber', data.phoneNumber);
      form.append('type', 'text');
      form.append('message', data.message);
      await http.post(`http://127.0.0.1:${upstreamPort}/v1/messages/send`, form, {
        headers: { ...form.getHeaders(), 'X-API-Key': 'key-of-the-benchmark' },
        httpAgent: new Agent({ keepAlive: false }),
      });
    },
    { connection: { url: redisUrl, maxRetriesPerRequest: null }, concurrency, autorun: false },
  );
  const running = worker.run();
  running.catch((error: unknown) => {
    throw error;
  });
  await worker.waitUntilReady();
  return async (request: BareRelayRequest): Promise<object> => {
    if ('run' in request) {
      await queue.resume();
      return {};
    }
    await queue.pause();
    await queue.addBulk(
      request.add.map((data) => ({ name: 'send', data, opts: { removeOnComplete: true } })),
    );
    return {};
  };
});
