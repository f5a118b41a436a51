import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { Tenant } from '../support/tenant.js';

const canary = (what: string): string => `canary-${what}-${randomBytes(6).toString('hex')}`;

/** A receiver that echoes each request, in turn with a success and with an error status. */
async function startEcho(): Promise<{ server: Server; url: string }> {
  let turn = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      turn += 1;
      response.writeHead(turn % 2 === 0 ? 204 : 500, { 'content-type': 'text/plain' });
      response.end(turn % 2 === 0 ? undefined : Buffer.concat(chunks));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}/hook` };
}

it('no API key, secret or message text appears in a log (even at level trace), or in Redis outside the record that it belongs to', async () => {
  const product = await Product.start({
    LOG_LEVEL: 'trace',
    UPSTREAM_TIMEOUT_MS: '1500',
    SEND_CONFIRM_MS: '1500',
  });
  const echo = await startEcho();
  const tenant = await Tenant.start(product, 'tenant');
  try {
    for (const [side, number] of [
      [product, '+1555123000'],
      [tenant, '+1555124000'],
    ] as const) {
      await exerciseWebhooks(side, product, echo.url);
      await exerciseSends(side, product, `${number}9`);
      await exerciseFaults(side, product, number);
    }
    await exerciseRefusals(product);
    for (const line of [
      '"send.attempted"',
      '"delivery.attempted"',
      '"request.ended"',
      '"upstream answered 400"',
    ])
      await eventually(`${line} is in a log`, () => product.allOutput().includes(line));
  } finally {
    await tenant[Symbol.asyncDispose]();
    echo.server.closeAllConnections();
    echo.server.close();
    // The logs are complete only after the processes have ended, so the check follows here.
    await product[Symbol.asyncDispose]();
  }
  const written = product.allOutput();
  expect(written).not.toContain('canary-');
  expect(written).toContain('"msg":"the process has stopped"');
});

type Side = Pick<Tenant, 'call' | 'json' | 'simulate'>;

async function exerciseWebhooks(side: Side, product: Product, url: string): Promise<void> {
  const headers = { Authorization: `Bearer ${canary('header')}` };
  const { id } = await side.json<{ id: string }>('POST', '/v1/webhooks', { url, headers });
  await side.json('POST', `/v1/webhooks/${id}/rotate-secret`, {});
  await side.json('GET', `/v1/webhooks/${id}/secret`);
  await side.json('PATCH', `/v1/webhooks/${id}`, { headers: { 'X-Token': canary('header') } });
  await side.json('POST', `/v1/webhooks/${id}/test`);
  product.canaries.addSecret('a header of a webhook', headers.Authorization);
}

async function exerciseSends(side: Side, product: Product, phoneNumber: string): Promise<void> {
  const { id } = await side.json<{ id: string }>('POST', '/v1/messages/send', {
    ...{ phoneNumber, message: canary('text'), reference: 'order 7' },
  });
  const content = canary('file');
  product.canaries.addText(content);
  const form = new FormData();
  form.append('phoneNumber', phoneNumber);
  form.append('message', canary('form'));
  form.append('file', new Blob([content], { type: 'text/plain' }), 'a.txt');
  await side.json('POST', '/v1/messages/send', form);
  await eventually('the send is delivered', async () => {
    const { status } = await side.json<{ status: string }>('GET', `/v1/sends/${id}`);
    return status === 'delivered';
  });
  const { contacts } = await side.json<{ contacts: { id: string }[] }>('GET', '/v1/contacts');
  const contactId = contacts[0]?.id ?? '';
  const typed = canary('typed');
  product.canaries.addText(typed);
  await side.simulate('typing', { contactId, message: typed });
  await eventually('the event message.received is recorded', async () => {
    const { events } = await side.json<{ events: unknown[] }>('GET', '/v1/events?types=message.received');
    return events.length > 0;
  });
  await side.json('GET', `/v1/contacts/${contactId}/messages`);
}

/** Upstream quotes the sent text and the API key in its replies; some requests get no reply. */
async function exerciseFaults(side: Side, product: Product, numbers: string): Promise<void> {
  const text = canary('echoed');
  product.canaries.addText(text);
  const quoted = { error: 'bad', message: `I was sent ${text}` };
  const faults: object[] = [
    { kind: 'status', status: 400, body: quoted },
    { kind: 'status', status: 500, body: quoted },
    { kind: 'status', status: 429, body: quoted },
    { kind: 'status', status: 403, body: quoted },
    { kind: 'errorBody200', body: quoted },
    { kind: 'html' },
    { kind: 'resetBefore' },
    { kind: 'timeoutAfter' },
    { kind: 'status', status: 401, body: quoted },
  ];
  for (const [i, fault] of faults.entries()) {
    const phoneNumber = `${numbers}${i}`;
    await side.simulate('faults', { match: { method: 'POST' }, fault, times: 1 });
    const { id } = await side.json<{ id: string }>('POST', '/v1/messages/send', {
      phoneNumber,
      message: text,
    });
    await eventually('the first attempt is recorded', async () => {
      const { attempts } = await side.json<{ attempts: unknown[] }>('GET', `/v1/sends/${id}`);
      return attempts.length > 0;
    });
  }
  await side.simulate('faults', {
    ...{ match: { method: 'GET' }, fault: { kind: 'status', status: 503, body: quoted }, times: 3 },
  });
  await side.call('GET', '/v1/contacts/nobody/messages');
}

/** Rejected requests must not put their content into the log either. */
async function exerciseRefusals(product: Product): Promise<void> {
  const text = canary('refused');
  product.canaries.addText(text);
  const key = canary('key');
  product.canaries.addSecret('an invalid API key', key);
  const address = `http://127.0.0.1:${product.gateway.port}`;
  const own = { 'X-API-Key': product.apiKey, 'Content-Type': 'application/json' };
  const send = (init: RequestInit, path = '/v1/messages/send'): Promise<Response> =>
    fetch(address + path, { method: 'POST', headers: own, signal: AbortSignal.timeout(10_000), ...init });
  const { token } = await product.json<{ token: string }>('POST', '/v1/tokens', {
    ...{ scopes: ['messages:send', 'events:read'], contactIds: ['c_1'] },
  });
  product.canaries.addSecret('a token', token);
  product.canaries.addSecret('a token without its prefix', token.slice(3));
  const bearer = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const replies = [
    await send({ body: '{}', headers: bearer }),
    await send({ method: 'GET', headers: bearer }, '/v1/events?wait=1'),
    await send({ method: 'GET', headers: bearer }, '/v1/contacts'),
    await send({ method: 'GET', headers: { ...own, ...bearer } }, `/v1/events?after=${token}`),
    await send({ body: `{"phoneNumber": "${text}` }),
    await send({ body: JSON.stringify({ phoneNumber: text, message: text }) }),
    await send({ body: JSON.stringify({ phoneNumber: '+15551230001', type: text, message: text }) }),
    await send({ body: text, headers: { ...own, 'Content-Type': `text/${text}` } }),
    await send({ body: '{}', headers: { ...own, 'X-API-Key': key } }),
    await send({ body: '{}', headers: { ...own, Authorization: `Bearer ${key}` } }),
    await send({ body: '{}' }, `/v1/${text}?key=${key}`),
    await send({ method: 'GET' }, `/v1/sends?reference=${text}&status=${key}`),
    await send({ method: 'GET' }, `/v1/contacts/${text}/messages?limit=${key}`),
    await send({ body: JSON.stringify({ url: `http://10.0.0.1/${key}` }) }, '/v1/webhooks'),
  ];
  for (const reply of replies) {
    expect(reply.status).toBeLessThan(500);
    await reply.text();
  }
}
