import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { findProgram } from '../support/find-program.js';
import { TestPrometheus } from '../support/prometheus.js';
import { type ProductProcess, ROOT, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';
import { shiftedClock } from '../support/shifted-clock-environment.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const PROMETHEUS = findProgram('prometheus');
if (PROMETHEUS === undefined) process.stderr.write('SKIPPED: no alert is tested without prometheus\n');
const NUMBER = '+14155550123';
/** Time for an alert to fire or to clear, in milliseconds: in the test, a minute of the rules is a second. */
const PATIENCE_MS = 90_000;

/** A fault, and the alert that it causes. Both functions return when the fault begins and when it is over. */
interface Fault {
  alert: string;
  cause: () => Promise<void>;
  cure: () => Promise<void>;
}

let product: Product;
let receiver: WebhookReceiver;
let prometheus: TestPrometheus;
let redis: Redis;
let gatewayPort: string;
let workerPort: string;
let second: { port: number; process?: ProductProcess };

const wait = (name: string, look: () => Promise<boolean>): Promise<unknown> =>
  eventually(name, look, PATIENCE_MS);

async function send(): Promise<string> {
  const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', {
    phoneNumber: NUMBER,
    message: 'Hello',
  });
  return id;
}

async function statusOf(id: string): Promise<string> {
  return (await product.json<{ status: string }>('GET', `/v1/sends/${id}`)).status;
}

function startWorkerAgain(): Promise<void> {
  return product.startWorker({ WORKER_PORT: workerPort });
}

async function startSecondGateway(changes: Record<string, string>): Promise<ProductProcess> {
  const environment = { ...product.environment(), API_KEY: product.apiKey, ...changes };
  return startProcess('gateway', { ...environment, PORT: String(second.port) });
}

let failingReads = new AbortController();

/** Reads contacts again and again, as callers do. */
async function readUntil(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await product.call('GET', '/v1/contacts');
    await pause(50);
  }
}

const FAULTS: Fault[] = [
  {
    alert: 'TidingsGatewayDown',
    cause: async () => {
      await product.gateway.stop();
    },
    cure: () => product.startGateway({ PORT: gatewayPort }),
  },
  {
    alert: 'TidingsRedisDown',
    cause: () => {
      product.redis.server.kill('SIGSTOP');
      return Promise.resolve();
    },
    cure: () => {
      product.redis.server.kill('SIGCONT');
      return Promise.resolve();
    },
  },
  {
    alert: 'TidingsNoWorker',
    cause: async () => {
      await product.worker.stop();
    },
    cure: startWorkerAgain,
  },
  {
    alert: 'TidingsUpstreamUnavailable',
    cause: async () => {
      await product.simulator.stop('SIGKILL');
    },
    cure: () => product.startSimulator(),
  },
  {
    alert: 'TidingsSendsWait',
    cause: async () => {
      await product.worker.stop();
      await send();
    },
    cure: startWorkerAgain,
  },
  {
    alert: 'TidingsUnknownSends',
    cause: async () => {
      await product.simulate('faults', [
        { match: { method: 'POST' }, times: 1, fault: { kind: 'timeoutBefore' } },
      ]);
      const id = await send();
      await wait('the send is unknown', async () => (await statusOf(id)) === 'unknown');
    },
    cure: async () => {
      const { sends } = await product.json<{ sends: { id: string }[] }>('GET', '/v1/sends?status=unknown');
      for (const { id } of sends)
        await product.json('POST', `/v1/sends/${id}/resolve`, { outcome: 'failed' });
    },
  },
  {
    alert: 'TidingsDetectionSlow',
    cause: async () => {
      const timestamp = new Date(Date.now() - 120_000).toISOString();
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'Shown late', timestamp });
    },
    cure: () => Promise.resolve(),
  },
  {
    alert: 'TidingsWebhookFailing',
    cause: async () => {
      receiver.secret = undefined;
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'Not received' });
    },
    cure: async () => {
      receiver.secret = await secretOfWebhook();
    },
  },
  {
    alert: 'TidingsWebhookDisabled',
    cause: async () => {
      receiver.status = 410;
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'Nobody listens' });
    },
    cure: async () => {
      receiver.status = 204;
      await product.json('PATCH', `/v1/webhooks/${webhookId}`, { enabled: true });
    },
  },
  {
    alert: 'TidingsDeliveriesLate',
    cause: async () => {
      await product.worker.stop();
      const id = await send();
      await product.json('POST', `/v1/sends/${id}/cancel`);
    },
    cure: startWorkerAgain,
  },
  {
    alert: 'TidingsWebhookBehind',
    cause: async () => {
      // A webhook that has never succeeded has at most 500 pending deliveries.
      const webhook = { url: 'http://127.0.0.1:1/', eventTypes: ['webhook.test'], ordered: true };
      const { id } = await product.json<{ id: string }>('POST', '/v1/webhooks', webhook);
      deadWebhookId = id;
      for (let n = 0; n < 6; n += 1)
        await Promise.all(Array.from({ length: 100 }, () => product.json('POST', `/v1/webhooks/${id}/test`)));
    },
    cure: async () => {
      await product.call('DELETE', `/v1/webhooks/${deadWebhookId}`);
    },
  },
  {
    alert: 'TidingsRedisNearlyFull',
    cause: async () => {
      const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
      await redis.config('SET', 'maxmemory', Math.round(used * 1.2));
    },
    cure: async () => {
      await redis.config('SET', 'maxmemory', 0);
    },
  },
  {
    alert: 'TidingsRedisNotPersistent',
    cause: async () => {
      await redis.config('SET', 'appendonly', 'no');
    },
    cure: async () => {
      await redis.config('SET', 'appendonly', 'yes');
    },
  },
  {
    alert: 'TidingsClockOff',
    cause: async () => {
      await second.process?.stop();
      second.process = await startSecondGateway(shiftedClock(60_000));
    },
    cure: async () => {
      await second.process?.stop();
      second.process = await startSecondGateway({});
    },
  },
  {
    alert: 'TidingsDegraded',
    cause: async () => {
      await second.process?.stop();
      second.process = await startSecondGateway({ BLOB_STORE: 'file:/dev/null/blobs' });
    },
    cure: async () => {
      await second.process?.stop();
      second.process = await startSecondGateway({});
    },
  },
  {
    alert: 'TidingsPollsFail',
    cause: async () => {
      await product.simulate('faults', {
        ...{ match: { method: 'GET', path: '/messages\\?' }, fault: { kind: 'status', status: 500 } },
        times: 'always',
      });
    },
    cure: async () => {
      await product.simulate('faults/clear');
    },
  },
  {
    alert: 'TidingsErrors',
    cause: async () => {
      await product.simulator.stop('SIGKILL');
      failingReads = new AbortController();
      void readUntil(failingReads.signal);
    },
    cure: async () => {
      failingReads.abort();
      await product.startSimulator();
    },
  },
];

let webhookId: string;
let deadWebhookId: string;

async function secretOfWebhook(): Promise<string> {
  return (await product.json<{ secret: string }>('GET', `/v1/webhooks/${webhookId}/secret`)).secret;
}

(PROMETHEUS === undefined ? describe.skip : describe)(
  'the alerts and the dashboard, tested with Prometheus',
  () => {
    beforeAll(async () => {
      product = await Product.start({
        UPSTREAM_TIMEOUT_MS: '1000',
        SEND_CONFIRM_MS: '1000',
        WEBHOOK_RETRY_SCHEDULE_SECONDS: Array.from({ length: 100 }, () => 1).join(','),
      });
      gatewayPort = String(product.gateway.port);
      workerPort = String(product.worker.port);
      const environment = { ...product.environment(), API_KEY: product.apiKey, PORT: '0' };
      const process = await startProcess('gateway', environment);
      second = { port: process.port, process };
      redis = new Redis(product.redis.url);
      receiver = await WebhookReceiver.start(product.api);
      const made = await product.json<{ id: string; secret: string }>('POST', '/v1/webhooks', {
        url: receiver.url,
      });
      webhookId = made.id;
      receiver.secret = made.secret;
      prometheus = await TestPrometheus.start(PROMETHEUS ?? '', {
        'tidings-gateway': [product.gateway.port, second.port],
        'tidings-worker': [product.worker.port],
      });
      const id = await send();
      await wait('the contact is known', async () => (await statusOf(id)) === 'delivered');
    });
    afterAll(async () => {
      await prometheus[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
      await second.process?.stop();
      redis.disconnect();
      await product[Symbol.asyncDispose]();
    });

    it('this test contains, for each alert in monitoring/alerts.yml, a fault that triggers the alert', async () => {
      const rules = await readFile(join(ROOT, 'monitoring/alerts.yml'), 'utf8');
      const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
      expect(FAULTS.map(({ alert }) => alert).sort()).toEqual(alerts.sort());
    });

    it('Prometheus returns data for every query of the dashboard', async () => {
      const file = join(ROOT, 'monitoring/grafana/dashboards/tidings.json');
      const { panels } = JSON.parse(await readFile(file, 'utf8')) as {
        panels: { title: string; targets: { expr: string }[] }[];
      };
      const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
      expect(queries.length).toBeGreaterThan(20);
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'For the delays' });
      for (const query of queries)
        await wait(`an answer to ${query}`, async () => (await prometheus.seriesOf(query)) > 0);
    });

    it.each(FAULTS)(
      'the alert $alert fires during its fault, contains a summary and the link to its runbook, and clears afterwards',
      async ({ alert, cause, cure }) => {
        const isFiring = async (): Promise<boolean> =>
          (await prometheus.firing()).some(({ labels }) => labels['alertname'] === alert);
        await wait('the alert does not fire yet', async () => !(await isFiring()));
        await cause();
        try {
          await wait(`${alert} fires`, isFiring);
          const [found] = (await prometheus.firing()).filter(({ labels }) => labels['alertname'] === alert);
          expect(found?.annotations['summary']).toMatch(/^[^{}]+$/);
          expect(found?.annotations['runbook']).toBe(`docs/operations.md#${alert.toLowerCase()}`);
        } finally {
          await cure();
        }
        await wait(`${alert} clears`, async () => !(await isFiring()));
      },
    );
  },
);
