// The least that a worker could do: signs bodies and posts them over a fixed number of connections.
import { createHmac, randomBytes } from 'node:crypto';
import { Pool } from 'undici';
import { serveRequests } from '../program.js';

/** What to deliver. */
export interface BareDeliverRequest {
  port: number;
  /** The body of every request. */
  body: string;
  count: number;
  connections: number;
  /** Number of requests a second. Absent: as many as possible. */
  rate?: number;
}

const key = randomBytes(32);

serveRequests(() => Promise.resolve(deliver));

async function deliver({ port, body, count, connections, rate }: BareDeliverRequest): Promise<void> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const began = performance.now();
  let next = 0;
  const connection = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      if (rate !== undefined) await waitUntil(began + (n / rate) * 1_000);
      const at = performance.timeOrigin + performance.now();
      await post(pool, n, rate === undefined ? body : body.replace('{sentAt}', String(at)));
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  await pool.close();
}

async function post(pool: Pool, n: number, body: string): Promise<void> {
  const id = `evt_${String(n).padStart(40, '0')}`;
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const reply = await pool.request({
    method: 'POST',
    path: '/hook',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'bare',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
    body,
  });
  await reply.body.dump();
  if (reply.statusCode !== 204) throw new Error(`the receiver answered ${reply.statusCode}`);
}

async function waitUntil(due: number): Promise<void> {
  const ms = due - performance.now();
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
