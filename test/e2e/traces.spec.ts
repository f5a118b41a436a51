import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { type CollectedSpan, TraceCollector } from '../support/trace-collector.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const RECIPIENT = '+14155550123';
const TEXT = 'A text that no span may contain';

let collector: TraceCollector;
let product: Product;
let receiver: WebhookReceiver;

beforeAll(async () => {
  collector = await TraceCollector.start();
  product = await Product.start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    UPSTREAM_TIMEOUT_MS: '1000',
  });
  receiver = await WebhookReceiver.start(product.api);
  const { secret } = await product.json<{ secret: string }>('POST', '/v1/webhooks', { url: receiver.url });
  receiver.secret = secret;
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await product[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

/** Sends a message with a trace of the caller. */
async function send(
  flags: '00' | '01',
  message = TEXT,
): Promise<{ id: string; traceId: string; spanId: string }> {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const reply = await fetch(`http://127.0.0.1:${product.gateway.port}/v1/messages/send`, {
    method: 'POST',
    headers: {
      'X-API-Key': product.apiKey,
      'Content-Type': 'application/json',
      traceparent: `00-${traceId}-${spanId}-${flags}`,
    },
    body: JSON.stringify({ phoneNumber: RECIPIENT, message }),
    signal: AbortSignal.timeout(10_000),
  });
  expect(reply.status).toBe(200);
  return { id: ((await reply.json()) as { id: string }).id, traceId, spanId };
}

const statusOf = async (id: string): Promise<string> =>
  (await product.json<{ status: string }>('GET', `/v1/sends/${id}`)).status;

/** Waits until a trace has a span with each of the names. */
async function untilTraced(traceId: string, names: readonly string[]): Promise<CollectedSpan[]> {
  return eventually(`the trace has ${names.join(', ')}`, () => {
    const spans = collector.trace(traceId);
    return names.every((name) => spans.some((span) => span.name === name)) && spans;
  });
}

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`there is no span ${name}`);
  return found;
};

describe('the trace of a send', () => {
  it('has the trace id of the caller, and spans for the request, the lane, the POST, the poll, the event and the delivery', async () => {
    const { id, traceId, spanId } = await send('01');
    const spans = await untilTraced(traceId, [
      'POST /v1/messages/send',
      'send queued',
      'send post',
      'send sighted',
      'poll contact',
      'event message.sent',
      'event message.delivered',
    ]);
    const request = named(spans, 'POST /v1/messages/send');
    expect(request).toMatchObject({ service: 'tidings-gateway', parentSpanId: spanId });
    for (const step of ['send queued', 'send post', 'send sighted']) {
      const span = named(spans, step);
      expect(span).toMatchObject({ service: 'tidings-worker', parentSpanId: request.spanId });
      expect(span.attributes).toMatchObject({ 'tidings.send_id': id });
      expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
    }
    const event = named(spans, 'event message.sent');
    const poll = spans.find((span) => span.spanId === event.parentSpanId);
    expect(poll).toMatchObject({ name: 'poll contact', parentSpanId: request.spanId });
    // The poll has a trace of its own, too, in which it read the page.
    const [pollTrace = ''] = poll?.links ?? [];
    await untilTraced(pollTrace, ['poll contact', 'read messages']);
    const delivery = await eventually('the event is delivered', () =>
      collector
        .trace(traceId)
        .find((span) => span.name === 'deliver event' && span.parentSpanId === event.spanId),
    );
    expect(delivery.attributes).toMatchObject({
      'http.response.status_code': 204,
      'tidings.event_id': receiver.eventsOfType('message.sent')[0]?.id,
    });
  });

  it('has an id that is also in the log lines of the request, the POST and the deliveries', async () => {
    const { id, traceId } = await send('01');
    await untilTraced(traceId, ['event message.sent']);
    const lines = await eventually('the lines are written', () => {
      const found = product
        .allOutput()
        .split('\n')
        .filter((line) => line.includes(`"traceId":"${traceId}"`));
      return (
        ['request.ended', 'send.attempted', 'delivery.attempted'].every((text) =>
          found.some((line) => line.includes(text)),
        ) && found
      );
    });
    expect(lines.find((line) => line.includes('send.attempted'))).toContain(id);
  });

  it('is not exported if the caller’s traceparent has the sampled flag 0; a traceparent sent to a webhook then also has the sampled flag 0', async () => {
    const { id, traceId } = await send('00');
    await eventually('the send is delivered', async () => (await statusOf(id)) === 'delivered');
    await eventually('a delivery continues the trace', () =>
      receiver.requestHeaders.some(({ traceparent }) => traceparent?.toString().startsWith(`00-${traceId}-`)),
    );
    const headers = receiver.requestHeaders.map(({ traceparent }) => String(traceparent));
    for (const header of headers.filter((text) => text.includes(traceId))) expect(header).toMatch(/-00$/);
    // A later trace is exported, and with it everything before.
    await untilTraced((await send('01')).traceId, ['event message.delivered']);
    expect(collector.trace(traceId)).toEqual([]);
  });

  it('is continued by another worker if the worker that relays the send is killed', async () => {
    await product.simulate('faults', { match: { method: 'POST' }, fault: 'timeoutAfter', times: 1 });
    const text = 'Sent by a worker that is killed';
    const { id, traceId } = await send('01', text);
    await eventually('upstream has the message', async () => (await product.texts()).includes(text));
    await product.worker.stop('SIGKILL');
    await product.startWorker();
    await eventually('the send is delivered', async () => (await statusOf(id)) === 'delivered', 60_000);
    await untilTraced(traceId, ['POST /v1/messages/send', 'event message.sent']);
    expect(collector.trace(traceId).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['send post', 'event message.sent']),
    );
  });
});

describe('the trace of a received message', () => {
  it('begins with the poll and ends with the delivery, whose request has a traceparent', async () => {
    const { contacts } = await product.simulate<{ contacts: { id: string }[] }>('contacts', {
      phoneNumber: '+14155550177',
    });
    await product.simulate('messages', { contactId: contacts[0]?.id, text: TEXT });
    const event = await eventually(
      'the event is delivered',
      () => receiver.eventsOfType('message.received')[0],
    );
    const headers = await eventually('its request is known', () =>
      receiver.requestHeaders.find((sent) => sent['webhook-id'] === event.id),
    );
    const [, traceId = '', spanId] = String(headers.traceparent).split('-');
    const spans = await untilTraced(traceId, ['poll contact', 'event message.received', 'deliver event']);
    const delivery = spans.find((span) => span.spanId === spanId);
    const emitted = named(spans, 'event message.received');
    expect(delivery).toMatchObject({ name: 'deliver event', parentSpanId: emitted.spanId });
    expect(named(spans, 'poll contact')).toMatchObject({ spanId: emitted.parentSpanId, parentSpanId: '' });
  });
});

describe('spans', () => {
  it('contain no text of a message, no secret and no phone number', () => {
    const everything = JSON.stringify(collector.spans);
    expect(collector.spans.length).toBeGreaterThan(20);
    for (const secret of [TEXT, RECIPIENT, product.apiKey, product.upstreamKey])
      expect(everything).not.toContain(secret);
  });

  // From here on, each test stops what runs and starts what it needs.
  it('do not delay a shutdown: gateway and worker end on SIGTERM even if the trace collector hangs', async () => {
    collector.isHanging = true;
    await send('01');
    const began = performance.now();
    expect(await Promise.all([product.gateway.stop(), product.worker.stop()])).toEqual([0, 0]);
    expect(performance.now() - began).toBeLessThan(10_000);
    collector.isHanging = false;
  });

  it('have the service name that OTEL_SERVICE_NAME sets; their export requests have the headers that OTEL_EXPORTER_OTLP_HEADERS sets', async () => {
    await product.gateway.stop();
    await product.startGateway({
      OTEL_SERVICE_NAME: 'front',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=42',
    });
    await product.worker.stop();
    const { traceId } = await send('01');
    // Its end exports its spans at once.
    await product.gateway.stop();
    await untilTraced(traceId, ['POST /v1/messages/send']);
    expect(collector.trace(traceId)).toMatchObject([{ service: 'front' }]);
    expect(collector.headers).toMatchObject({ 'x-collector-key': '42' });
  });

  it('are not recorded, and webhooks get no traceparent, if no trace collector is configured', async () => {
    await product.gateway.stop();
    await product.worker.stop();
    const off = { OTEL_EXPORTER_OTLP_ENDPOINT: '' };
    await Promise.all([product.startGateway(off), product.startWorker(off)]);
    const before = collector.spans.length;
    const { id } = await send('01', 'Without traces');
    await eventually('the send is delivered', async () => (await statusOf(id)) === 'delivered');
    const headersOfSend = (): IncomingHttpHeaders[] =>
      receiver.requestHeaders.filter((_, i) => JSON.stringify(receiver.events[i]).includes(id));
    await eventually('its events are delivered', () => headersOfSend().length >= 4);
    expect(headersOfSend().filter(({ traceparent }) => traceparent !== undefined)).toEqual([]);
    expect(collector.spans).toHaveLength(before);
  });
});
