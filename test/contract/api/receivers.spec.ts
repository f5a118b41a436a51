import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Controller, HttpCode, Module, Post, type RawBodyRequest, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { expect, it } from '@jest/globals';
import fastify from 'fastify';
import { Webhook } from 'standardwebhooks';
import { type Event, verifyWebhook } from '#client';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const BODY = '{ "id": "evt_1",  "type": "message.received" }';
let received: Event[] = [];

/** Posts a signed delivery, whose text a parser would change. */
async function deliver(url: string): Promise<number> {
  const now = new Date();
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', now, BODY),
  };
  received = [];
  return (await fetch(url, { method: 'POST', headers, body: BODY })).status;
}

it('a Fastify server that reads the body as bytes can verify the signature of a delivery', async () => {
  const app = fastify();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => {
    done(null, body);
  });
  app.post('/hook', async (request, reply) => {
    received.push(await verifyWebhook(request.body as Buffer, request.headers, secret));
    return reply.code(204).send();
  });
  try {
    expect(await deliver(`${await app.listen({ port: 0, host: '127.0.0.1' })}/hook`)).toBe(204);
    expect(received).toEqual([JSON.parse(BODY)]);
  } finally {
    await app.close();
  }
});

@Controller()
class HookController {
  @Post('hook')
  @HttpCode(204)
  async receive(@Req() request: RawBodyRequest<IncomingMessage>): Promise<void> {
    received.push(await verifyWebhook(request.rawBody ?? '', request.headers, secret));
  }
}

@Module({ controllers: [HookController] })
class HookModule {}

it('a NestJS server that keeps raw bodies can verify the signature of a delivery', async () => {
  const app = await NestFactory.create<NestFastifyApplication>(HookModule, new FastifyAdapter(), {
    rawBody: true,
    logger: false,
  });
  try {
    await app.listen(0, '127.0.0.1');
    expect(await deliver(`${await app.getUrl()}/hook`)).toBe(204);
    expect(received).toEqual([JSON.parse(BODY)]);
  } finally {
    await app.close();
  }
});
