import { request } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

let product: Product | undefined;

afterEach(async () => {
  await product?.[Symbol.asyncDispose]();
  product = undefined;
});

const MESSAGES = 150;

/** A stream client that reconnects with the last id after each disconnect, until it is stopped. */
class Listener {
  readonly received: { id: string; json: string }[] = [];
  connections = 0;
  private lastId = '';
  private cut: () => void = () => undefined;
  private stopped = false;
  private readonly ended: Promise<void>;

  constructor(private readonly running: Product) {
    this.ended = this.run();
  }

  get isOpen(): boolean {
    return this.lastId !== '';
  }

  /** Closes the connection at once, even in the middle of a line. */
  disconnect(): void {
    this.cut();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cut();
    await this.ended;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      await this.connect().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  private connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        port: this.running.gateway.port,
        path: '/v1/events/stream',
        agent: false,
        headers: {
          'x-api-key': this.running.apiKey,
          ...(this.lastId === '' ? {} : { 'last-event-id': this.lastId }),
        },
      });
      this.cut = () => outgoing.destroy();
      outgoing.once('error', reject);
      outgoing.once('close', resolve);
      outgoing.once('response', (response) => {
        if (response.statusCode === 200) this.connections++;
        let rest = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          const blocks = (rest + text).split('\n\n');
          rest = blocks.pop() ?? '';
          blocks.forEach((block) => {
            this.take(block);
          });
        });
        response.on('error', () => undefined);
      });
      outgoing.end();
    });
  }

  private take(block: string): void {
    const fields = new Map(
      block.split('\n').map((line) => /^(\w*): ?(.*)$/.exec(line)?.slice(1) as [string, string]),
    );
    const id = fields.get('id');
    if (id !== undefined) this.lastId = id;
    const data = fields.get('data');
    if (data !== undefined) this.received.push({ id: (JSON.parse(data) as { id: string }).id, json: data });
  }
}

describe('an event stream', () => {
  it('sends each event once and in order, even if connections are cut at random and the gateway restarts', async () => {
    product = await Product.start();
    const running = product;
    const listener = new Listener(running);
    await eventually('the stream is open', () => listener.isOpen);

    const { contacts } = await running.simulate<{ contacts: { id: string }[] }>('contacts', {
      phoneNumber: '+14155550199',
    });
    const contactId = contacts[0]?.id ?? '';
    const cutting = { on: true };
    const cutter = (async () => {
      while (cutting.on) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
        listener.disconnect();
      }
    })();
    const restarts: (number | null)[] = [];
    for (let i = 1; i <= MESSAGES; i++) {
      await running.simulate('typing', { contactId, message: `No. ${i}` });
      // Waits until the stream catches up, so that it is cut several times.
      if (i % 10 === 5) await eventually('the client has caught up', () => listener.received.length >= i);
      if (i % 50 === 0) {
        restarts.push(await running.gateway.stop(i === 100 ? 'SIGKILL' : 'SIGTERM'));
        await running.startGateway();
      }
    }
    const { events } = await eventually(
      'all messages are in the log',
      async () => {
        const page = await running.json<{ events: { id: string; type: string }[] }>(
          'GET',
          '/v1/events?limit=1000',
        );
        return page.events.filter(({ type }) => type === 'message.received').length === MESSAGES && page;
      },
      60_000,
    );
    await eventually('all events are received', () => listener.received.length >= events.length);
    cutting.on = false;
    await cutter;
    await listener.stop();
    process.stdout.write(`${events.length} events received over ${listener.connections} connections\n`);
    expect(restarts).toEqual([0, null, 0]);
    expect(listener.received.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    const text = await (await running.call('GET', '/v1/events?limit=1000')).text();
    expect(text.startsWith(`{"events":[${listener.received.map(({ json }) => json).join(',')}],`)).toBe(true);
    expect(listener.connections).toBeGreaterThan(5);
  });
});
