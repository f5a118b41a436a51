import { createServer, type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { startTidings } from '../support/command-line.js';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const NUMBER = '+15551230001';
const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const CUT_MS = 30_000;

/** A network between two programs, which a test can cut. During the cut, no byte passes and no connection is made. */
class CuttableNetwork implements AsyncDisposable {
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private isCut = false;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async to(target: number): Promise<CuttableNetwork> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const network = new CuttableNetwork(server, (server.address() as AddressInfo).port);
    server.on('connection', (near) => {
      network.join(near, connect(target, '127.0.0.1'));
    });
    return network;
  }

  /** Stops all bytes. With `reset`, connections break when the cut ends, as behind a router that forgot them. */
  cut(): void {
    this.isCut = true;
    for (const [near, far] of this.pairs) {
      near.pause();
      far.pause();
    }
  }

  mend({ reset }: { reset: boolean }): void {
    this.isCut = false;
    for (const [near, far] of this.pairs) {
      if (reset) {
        near.resetAndDestroy();
        far.destroy();
      } else {
        near.resume();
        far.resume();
      }
    }
  }

  private join(near: Socket, far: Socket): void {
    const pair = [near, far] as const;
    this.pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        to.destroy();
        this.pairs.delete(pair);
      });
      if (this.isCut) from.pause();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [near, far] of this.pairs) {
      near.destroy();
      far.destroy();
    }
    await new Promise((closed) => this.server.close(closed));
  }
}

describe('tidings listen', () => {
  it.each([{ reset: false }, { reset: true }])(
    'forwards each event once and in order although the network is cut for 30 s (connections reset afterwards: $reset)',
    async (how) => {
      await using product = await Product.start();
      await using network = await CuttableNetwork.to(product.gateway.port);
      await using receiver = await WebhookReceiver.start(product.api);
      receiver.secret = SECRET;
      const listening = startTidings(
        ['listen', '--forward', receiver.url, '--types', 'message.received'],
        {
          TIDINGS_URL: `http://127.0.0.1:${network.port}`,
          TIDINGS_API_KEY: product.apiKey,
          TIDINGS_WEBHOOK_SECRET: SECRET,
        },
        CUT_MS + 120_000,
      );
      try {
        await eventually('it listens', async () => {
          await product.simulate('messages', { phoneNumber: NUMBER, text: 'Is anybody there?' });
          return receiver.events.length > 0;
        });
        network.cut();
        const send = (text: string): Promise<unknown> =>
          product.simulate('messages', { phoneNumber: NUMBER, text, count: 20 });
        await send('During the cut {n}');
        await pause(CUT_MS);
        expect(JSON.stringify(receiver.events)).not.toContain('During the cut');
        network.mend(how);
        await send('After the cut {n}');
        await eventually(
          'all events are forwarded',
          () => JSON.stringify(receiver.events).match(/(During|After) the cut/g)?.length === 40,
          60_000,
        );
        expect(receiver.duplicateIds()).toEqual([]);
        expect(receiver.invalidRequests).toEqual([]);
        const sequences = receiver.events.map(({ sequence }) => sequence);
        expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      } finally {
        listening.child.kill('SIGKILL');
        await listening.ended;
      }
    },
    180_000,
  );
});
