import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { findProgram } from '../support/find-program.js';
import { metricsIn, metricTable, type Scrape } from '../support/metrics.js';
import { ROOT } from '../support/process.js';
import { Product } from '../support/product.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const RECIPIENT = '+14155550123';
const DOCUMENTATION = join(ROOT, 'docs/metrics.md');
const PROMTOOL = findProgram('promtool');
if (PROMTOOL === undefined)
  process.stderr.write('SKIPPED: the metrics are not checked by promtool, which is not installed\n');

let product: Product;
let receiver: WebhookReceiver;

beforeAll(async () => {
  product = await Product.start();
  receiver = await WebhookReceiver.start(product.api);
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await product[Symbol.asyncDispose]();
});

async function textOf(process: 'gateway' | 'worker'): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${product[process].port}/metrics`, {
    signal: AbortSignal.timeout(10_000),
  });
  expect(reply.status).toBe(200);
  return reply.text();
}

async function scrape(process: 'gateway' | 'worker'): Promise<Scrape> {
  return metricsIn(await textOf(process));
}

describe('the metrics', () => {
  it('of a worker correctly count a send, the message and events of the send, and the deliveries of these events', async () => {
    const { secret } = await product.json<{ secret: string }>('POST', '/v1/webhooks', { url: receiver.url });
    receiver.secret = secret;
    const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', {
      phoneNumber: RECIPIENT,
      message: 'Counted once',
    });
    await eventually('the send is delivered', async () => {
      const { status } = await product.json<{ status: string }>('GET', `/v1/sends/${id}`);
      return status === 'delivered';
    });
    await eventually(
      'its events are delivered',
      () => receiver.eventsOfType('message.delivered').length === 1,
    );
    const metrics = await eventually('every delivery is recorded', async () => {
      const found = await scrape('worker');
      const recorded = found.value('tidings_delivery_attempts_total', { outcome: 'succeeded' });
      return recorded === receiver.events.length && found;
    });
    const value = metrics.value.bind(metrics);
    expect(value('tidings_relay_attempts_total', { outcome: 'accepted' })).toBe(1);
    expect(value('tidings_relay_attempts_total')).toBe(1);
    for (const status of ['relaying', 'accepted', 'sent', 'delivered'])
      expect([status, value('tidings_send_statuses_total', { status })]).toEqual([status, 1]);
    expect(value('tidings_send_status_seconds_count', { status: 'queued' })).toBe(1);
    expect(value('tidings_message_changes_total', { type: 'message.sent' })).toBe(1);
    expect(value('tidings_message_changes_total', { type: 'message.delivered' })).toBe(1);
    expect(value('tidings_upstream_requests_total', { operation: 'send', outcome: 'ok' })).toBe(1);
    expect(value('tidings_budget_tokens_total', { class: 'send' })).toBeGreaterThan(0);
    expect(value('tidings_delivery_delay_seconds_count')).toBe(receiver.events.length);
    expect(value('tidings_delivery_delay_seconds_sum')).toBeLessThan(receiver.events.length * 30);
    for (const { type } of receiver.events)
      expect(value('tidings_events_dispatched_total', { type })).toBe(receiver.eventsOfType(type).length);
    // A poll is counted when it ends, which is after its commit: its events may be delivered before.
    const counted = await eventually('a poll is counted', async () => {
      const found = await scrape('worker');
      const isCounted = found.value('tidings_polls_total', { kind: 'head', result: 'done' }) > 0;
      const hasDelay = found.value('tidings_detection_delay_seconds_count') > 0;
      return (
        isCounted && hasDelay && found.value('tidings_poll_requests_count', { kind: 'head' }) > 0 && found
      );
    });
    expect(counted.value('tidings_detection_delay_seconds_count')).toBe(1);
    expect(counted.value('tidings_poll_requests_sum', { kind: 'head' })).toBeGreaterThan(0);
  });

  it('of a gateway show the number of sends, workers and deliveries of the installation', async () => {
    const metrics = await eventually('the state is read', async () => {
      const found = await scrape('gateway');
      return found.value('tidings_deliveries', { status: 'succeeded' }) === receiver.events.length && found;
    });
    expect(metrics.value('tidings_sends', { account: 'default', status: 'delivered' })).toBe(1);
    expect(metrics.value('tidings_send_statuses_total', { status: 'queued' })).toBe(1);
    for (const role of ['relay', 'poll', 'dispatch'])
      expect(metrics.value('tidings_workers', { role })).toBe(1);
    expect(metrics.value('tidings_contacts', { account: 'default' })).toBe(1);
    expect(metrics.value('tidings_webhooks', { state: 'enabled' })).toBe(1);
    expect(metrics.value('tidings_http_requests_total', { route: '/v1/messages/send', status: '200' })).toBe(
      1,
    );
  });

  it('of a worker are refused to a request that a proxy forwards, unless the request has an admin API key', async () => {
    const asked = async (headers: Record<string, string>): Promise<number> => {
      const url = `http://127.0.0.1:${product.worker.port}/metrics`;
      return (await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.9', ...headers } })).status;
    };
    expect(await asked({})).toBe(401);
    const { key } = await product.json<{ key: string }>('POST', '/v1/api-keys', {
      account: 'default',
      scopes: ['admin'],
      name: 'Scraper',
    });
    product.canaries.addSecret('the key of the scraper', key);
    expect(await asked({ 'x-api-key': key })).toBe(200);
  });

  it('contain no secret, no text and no phone number', async () => {
    for (const process of ['gateway', 'worker'] as const) {
      const text = await textOf(process);
      expect(product.canaries.leaksInLog(`the metrics of the ${process}`, text)).toEqual([]);
      expect(text).not.toContain('Counted once');
      expect(text).not.toContain(RECIPIENT);
    }
  });

  it('are all listed in docs/metrics.md (to update: npm run docs:metrics)', async () => {
    const ofGateway = metricTable(await textOf('gateway'));
    const ofWorker = metricTable(await textOf('worker'));
    const page = await readFile(DOCUMENTATION, 'utf8');
    const updated = page
      .replace(/(<!-- gateway -->\n)[^]*?(?=<!-- end -->)/, `$1\n${ofGateway}\n`)
      .replace(/(<!-- worker -->\n)[^]*?(?=<!-- end -->)/, `$1\n${ofWorker}\n`);
    if (process.env['TIDINGS_GENERATE'] === '1') await writeFile(DOCUMENTATION, updated);
    expect(await readFile(DOCUMENTATION, 'utf8')).toBe(updated);
  });

  (PROMTOOL === undefined ? it.skip : it)('follow the conventions that promtool checks', async () => {
    for (const process of ['gateway', 'worker'] as const) {
      const checking = promisify(execFile)(PROMTOOL ?? '', ['check', 'metrics']);
      checking.child.stdin?.end(await textOf(process));
      const { stdout, stderr } = await checking;
      expect([process, stdout, stderr]).toEqual([process, '', '']);
    }
  });
});
