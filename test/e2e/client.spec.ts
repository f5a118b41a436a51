import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CreatedWebhook,
  type Event,
  type EventList,
  SendStatusNotReachedError,
  Tidings,
  verifyWebhook,
} from '#client';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

const NUMBER = '+15551230001';

let product: Product;
let tidings: Tidings;

beforeAll(async () => {
  product = await Product.start();
  // The gateway keeps its port over the restart below.
  tidings = new Tidings({ baseUrl: `http://127.0.0.1:${product.gateway.port}`, apiKey: product.apiKey });
});
afterAll(() => product[Symbol.asyncDispose]());

describe('the client', () => {
  it('sends a text and waits until it is delivered', async () => {
    const queued = await tidings.send({ phoneNumber: NUMBER, message: 'Hello', reference: 'order-1' });
    const send = await tidings.waitFor(queued, 'delivered', { timeoutMs: 30_000 });
    expect(send).toMatchObject({ id: queued.id, status: 'delivered', reference: 'order-1' });
    const found: string[] = [];
    for await (const { id } of tidings.sends({ reference: 'order-1' })) found.push(id);
    expect(found).toEqual([queued.id]);
    const texts: unknown[] = [];
    for await (const { message } of tidings.messages(String(send.contactId))) texts.push(message);
    expect(texts).toContain('Hello');
  });

  it('sends a file, which is read from the disk during the upload', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tidings-client-'));
    try {
      const path = join(folder, 'photo.bin');
      await writeFile(path, randomBytes(3_000_000));
      const queued = await tidings.send(
        { phoneNumber: NUMBER, message: 'With a file', metadata: { order: 1 } },
        { file: await openAsBlob(path), fileName: 'photo.bin' },
      );
      const send = await tidings.waitFor(queued, 'sent', { timeoutMs: 30_000 });
      expect(send).toMatchObject({ file: { name: 'photo.bin', size: 3_000_000 }, metadata: { order: 1 } });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('sends a file with the name and the media type that the file has', async () => {
    const file = new File(['pixels'], 'photo.jpg', { type: 'image/jpeg' });
    const { id } = await tidings.send({ phoneNumber: NUMBER }, { file });
    expect((await tidings.getSend(id)).file).toMatchObject({ name: 'photo.jpg', contentType: 'image/jpeg' });
  });

  it('stops waiting for a send that does not reach the expected status in time, or that can no longer reach that status', async () => {
    const { id } = await tidings.send({
      phoneNumber: NUMBER,
      message: 'Later',
      sendAt: '2100-01-01T00:00:00Z',
    });
    await expect(tidings.waitFor({ id }, 'accepted', { timeoutMs: 600 })).rejects.toBeInstanceOf(
      SendStatusNotReachedError,
    );
    await tidings.cancelSend(id);
    await expect(tidings.waitFor({ id }, 'accepted')).rejects.toMatchObject({
      send: { id, status: 'cancelled' },
    });
  });

  it('yields each event once and in order even if the gateway restarts, and continues from a stored cursor', async () => {
    const { port } = product.gateway;
    const { next } = (await tidings.call('GET', '/v1/events?after=now')) as EventList;
    const leave = new AbortController();
    const stream = tidings.events({ types: ['message.sent'], after: next, signal: leave.signal });
    const seen: Event[] = [];
    const reading = (async () => {
      for await (const event of stream) {
        seen.push(event);
        if (seen.length === 6) leave.abort();
      }
    })();
    const sent = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1)
        await tidings.send({ phoneNumber: NUMBER, message: `Event ${randomBytes(4).toString('hex')}` });
    };
    await sent(3);
    await eventually('the first events arrive', () => seen.length > 0);
    await product.gateway.stop();
    await product.startGateway({ PORT: String(port) });
    await sent(3);
    await reading;
    const sequences = seen.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    expect(new Set(sequences).size).toBe(6);

    // Another client goes on where this one left.
    await sent(1);
    for await (const event of tidings.events({ types: ['message.sent'], after: stream.cursor })) {
      expect(sequences).not.toContain(event.sequence);
      break;
    }
  });

  it('verifies the signature of a delivery, and lists failed deliveries', async () => {
    let secret = '';
    const verified: Event[] = [];
    let isDown = true;
    const server = createServer((request, response) => {
      void text(request)
        .then(async (body) => {
          verified.push(await verifyWebhook(body, request.headers, secret));
          response.writeHead(isDown ? 410 : 204).end();
        })
        .catch(() => response.writeHead(401).end());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const webhook = (await tidings.call('POST', '/v1/webhooks', {
        url: `http://127.0.0.1:${port}/`,
        eventTypes: ['webhook.test'],
      })) as CreatedWebhook;
      ({ secret } = webhook);
      await tidings.call('POST', `/v1/webhooks/${webhook.id}/test`);
      const failed = await eventually('the delivery has failed', async () => {
        for await (const delivery of tidings.deliveries({ status: 'failed', webhookId: webhook.id }))
          return delivery;
        return false;
      });
      expect(verified).toMatchObject([{ type: 'webhook.test', data: { webhookId: webhook.id } }]);
      expect(failed).toMatchObject({ eventId: verified[0]?.id, webhookId: webhook.id });
      isDown = false;
      await tidings.call('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: true });
      await tidings.call('POST', `/v1/deliveries/${failed.id}/retry`);
      await eventually('the retry succeeds', () => verified.length > 1);
      expect(verified[1]?.id).toBe(verified[0]?.id);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
