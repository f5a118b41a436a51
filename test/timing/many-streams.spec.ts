import { type ClientRequest, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisEventLog } from '#events';
import { eventually } from '../support/eventually.js';
import { metricsIn, type Scrape } from '../support/metrics.js';
import { percentile } from '../support/percentile.js';
import { Product } from '../support/product.js';

const STREAMS = 500;
const EVENTS = 300;
const EVENTS_EVERY_MS = 40;

let product: Product;
let redis: Redis;
const streams: Stream[] = [];

/** One event stream, which notes when each event arrives. */
class Stream {
  readonly delaysMs: number[] = [];
  private rest = '';

  private constructor(private readonly outgoing: ClientRequest) {}

  /** @param isSlow true for a client that receives nothing after the headers */
  static async open(isSlow: boolean): Promise<Stream> {
    const outgoing = request(`http://127.0.0.1:${product.gateway.port}/v1/events/stream?types=webhook.test`, {
      headers: { 'x-api-key': product.apiKey },
      agent: false,
    });
    const stream = new Stream(outgoing);
    await new Promise<void>((opened, failed) => {
      outgoing.once('response', (response) => {
        response.on('error', () => undefined);
        if (isSlow) response.pause();
        else
          response.setEncoding('utf8').on('data', (text: string) => {
            stream.receive(text);
          });
        opened();
      });
      outgoing.once('error', failed).end();
    });
    outgoing.on('error', () => undefined);
    return stream;
  }

  close(): void {
    this.outgoing.destroy();
  }

  private receive(text: string): void {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, at] = /"at":(\d+)/.exec(block) ?? [];
      if (at !== undefined) this.delaysMs.push(Date.now() - Number(at));
    }
  }
}

beforeAll(async () => {
  product = await Product.start();
  await product.worker.stop();
  redis = new Redis(product.redis.url);
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  redis.disconnect();
  await product[Symbol.asyncDispose]();
});

async function scrape(): Promise<Scrape> {
  const reply = await fetch(`http://127.0.0.1:${product.gateway.port}/metrics`, {
    signal: AbortSignal.timeout(10_000),
  });
  return metricsIn(await reply.text());
}

describe(`${STREAMS} event streams of one account`, () => {
  it('share their reads of Redis; while one stream is slow, all others receive every event, 99 % of the events within 200 ms', async () => {
    for (let i = 0; i < STREAMS; i += 50)
      streams.push(...(await Promise.all(Array.from({ length: 50 }, (_, n) => Stream.open(i + n === 0)))));
    const [, ...fast] = streams;
    const log = new RedisEventLog(redis, 'tidings');
    const before = await scrape();
    const began = performance.now();
    for (let n = 0; n < EVENTS; n += 1) {
      const data = { at: Date.now(), text: 'x'.repeat(2_000) };
      await log.append('default', [
        { type: 'webhook.test', subject: `webhook:many-${n}`, revision: n, data },
      ]);
      await pause(EVENTS_EVERY_MS);
    }
    await eventually('every stream has every event', () =>
      fast.every(({ delaysMs }) => delaysMs.length === EVENTS),
    );
    const seconds = (performance.now() - began) / 1_000;
    const after = await scrape();
    const perSecond = (command: string): number =>
      (after.value('tidings_redis_commands_total', { command }) -
        before.value('tidings_redis_commands_total', { command })) /
      seconds;
    const delays = fast.flatMap(({ delaysMs }) => delaysMs);
    const p99 = percentile(delays, 0.99);
    process.stdout.write(
      `${STREAMS} streams, ${(EVENTS / seconds).toFixed(0)} events/s: ${perSecond('xrange').toFixed(1)} reads of the log ` +
        `a second, delay p50 ${percentile(delays, 0.5)} ms, p99 ${p99} ms\n`,
    );
    expect(perSecond('xrange')).toBeLessThanOrEqual(30);
    expect(p99).toBeLessThan(200);
  });
});
