import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Page } from 'playwright-core';
import type { Event, EventList, Webhook } from '#client';
import { RedisEventLog } from '#events';
import { findBrowserFor, withBrowser } from '../../support/browser.js';
import { openConsole } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { Product } from '../../support/product.js';

const browser = findBrowserFor('the events of the console');
const withChromium = browser === undefined ? describe.skip : describe;

const MARKUP = `<img src=x onerror="document.title='run'"><script>alert(1)</script> & <b>bold</b>`;
const PHONE = '+15553350001';
/** Number of events that are appended in one step. */
const BURST = 200;

withChromium('on the page of events in the console,', () => {
  let product: Product;
  let redis: Redis;
  let server: Server;
  const received: string[] = [];

  beforeAll(async () => {
    product = await Product.start();
    redis = new Redis(product.redis.url);
    await product.simulate('contacts', { name: 'Ada', phoneNumber: PHONE });
    await product.simulate('contacts', { name: 'Grace', phoneNumber: '+15553350002' });
    server = createServer((request, response) => {
      void buffer(request).then((body) => {
        received.push((JSON.parse(body.toString()) as Event).id);
        response.writeHead(204).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    redis.disconnect();
    server.close();
    await product[Symbol.asyncDispose]();
  });

  const receive = (text: string, phoneNumber = PHONE): Promise<unknown> =>
    product.simulate('messages', { phoneNumber, text });

  /** Waits for the event of an inbound message. */
  const eventOf = (text: string): Promise<Event> =>
    eventually(`the event of ${text}`, async () => {
      const { events } = await product.json<EventList>('GET', '/v1/events?types=message.received&limit=1000');
      return events.find((event) => JSON.stringify(event).includes(JSON.stringify(text)));
    });

  /** Runs the body with the console at a path, and asserts that nothing went wrong on the page. */
  async function withConsole(path: string, body: (page: Page) => Promise<void>): Promise<void> {
    await withBrowser(browser ?? '', async (context) => {
      const open = await openConsole(context, product, product.apiKey, path);
      try {
        await body(open.page);
      } catch (error) {
        throw new Error(`the page shows:\n${await open.page.locator('body').innerText()}`, { cause: error });
      }
      open.expectNoTrouble();
    });
  }

  let lives = 0;

  /** Opens the live events, and waits until they follow the log. */
  async function untilLive(page: Page): Promise<void> {
    await page.getByText('New events appear at the top.').waitFor();
    lives += 1;
    const text = `Are you live, ${lives}?`;
    await receive(text);
    await page.getByRole('listitem').filter({ hasText: text }).waitFor();
  }

  it('a new event appears without a reload, and markup in the event is shown as text', async () => {
    await withConsole('/console/events', async (page) => {
      await untilLive(page);
      await receive(MARKUP);
      const row = page.getByRole('listitem').filter({ hasText: MARKUP });
      await row.waitFor();
      await row.getByRole('link', { name: 'message.received' }).click();
      await page.getByRole('heading', { name: 'message.received', level: 1 }).waitFor();
      await page.getByText(JSON.stringify(MARKUP), { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Raw' }).click();
      await page.getByRole('region', { name: 'the event' }).getByText('"sequence"').waitFor();
      expect(await page.locator('main :is(img, script, b, i)').count()).toBe(0);
      expect(await page.title()).toBe('message.received · Tidings');
    });
  });

  it('the list of events does not move while it is paused, scrolled down or focused, and a button shows the number of new events', async () => {
    await withConsole('/console/events', async (page) => {
      await untilLive(page);
      await page.getByRole('button', { name: 'Pause' }).click();
      await receive('While paused');
      await page.getByRole('button', { name: '1 new event' }).waitFor();
      expect(await page.getByText('While paused').count()).toBe(0);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('While paused').waitFor();

      await page.getByRole('link', { name: 'message.received' }).first().focus();
      await receive('While focused');
      await page.getByRole('button', { name: '1 new event' }).click();
      await page.getByText('While focused').waitFor();

      await page.getByRole('button', { name: 'Pause' }).focus();
      await product.simulate('messages', { phoneNumber: PHONE, text: 'Row {n}.', count: 60 });
      await page.getByText('Row 60.').waitFor();
      await page.mouse.move(640, 500);
      await page.mouse.wheel(0, 1_500);
      await page.getByText('The list is paused.').waitFor();
      await receive('While scrolled down');
      await page.getByRole('button', { name: '1 new event' }).click();
      await page.getByText('While scrolled down').waitFor();
      await page.getByText('New events appear at the top.').waitFor();
    });
  });

  it('the filters for type and contact apply to stored and to new events, and stay in the page address', async () => {
    await receive('Of Ada');
    await receive('Of Grace', '+15553350002');
    const [ada, grace] = [await eventOf('Of Ada'), await eventOf('Of Grace')];
    const contactId = 'contactId' in grace ? grace.contactId : '';
    expect(ada).not.toMatchObject({ contactId });
    await withConsole('/console/events', async (page) => {
      await page.getByLabel('Event types').fill('message.*, contact.created');
      await page.getByLabel('Contact id').fill(contactId);
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('Of Grace').waitFor();
      await page.reload();
      await page.getByLabel('API key').fill(product.apiKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Of Grace').waitFor();
      expect(await page.getByText('Of Ada').count()).toBe(0);
      expect(await page.getByLabel('Event types').inputValue()).toBe('message.*,contact.created');
      await receive('Later of Grace', '+15553350002');
      await receive('Later of Ada');
      await page.getByText('Later of Grace').waitFor();
      await eventOf('Later of Ada');
      expect(await page.getByText('Later of Ada').count()).toBe(0);
      // The events of the other contact are there without the filter.
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByRole('button', { name: 'Show the stored events from the start' }).click();
      await page.getByText('Of Ada', { exact: true }).waitFor();
    });
  });

  it('an event can be delivered on request to one selected webhook', async () => {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    await product.json<Webhook>('POST', '/v1/webhooks', { url, description: 'Unrelated' });
    await product.json<Webhook>('POST', '/v1/webhooks', {
      url,
      description: 'Order <i>service</i>',
      eventTypes: ['send.failed'],
    });
    await receive('Again');
    const { id } = await eventOf('Again');
    await eventually('the first webhook got it', () => received.includes(id));
    await withConsole(`/console/events/${id}`, async (page) => {
      const table = page.getByRole('region', { name: 'Deliveries of the event' });
      await table.getByRole('link', { name: 'Unrelated' }).waitFor();
      await page.getByRole('button', { name: 'Send the event again to one webhook' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Webhook').selectOption({ label: 'Order <i>service</i>' });
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      const row = table.getByRole('row').filter({ hasText: 'Order <i>service</i>' });
      await row.getByText('succeeded').waitFor();
    });
    expect(received.filter((each) => each === id)).toHaveLength(2);
  });

  it('the events of a day are shown with their date when the next day begins', async () => {
    await receive('Before midnight');
    await eventOf('Before midnight');
    await withBrowser(browser ?? '', async (context) => {
      const lastMinute = new Date();
      lastMinute.setHours(23, 59, 0, 0);
      await context.clock.install({ time: lastMinute });
      const { page } = await openConsole(context, product, product.apiKey, '/console/events');
      const time = page.getByRole('listitem').filter({ hasText: 'Before midnight' }).locator('time');
      const year = String(lastMinute.getFullYear());
      expect(await time.innerText()).not.toContain(year);
      await page.clock.runFor(120_000);
      await eventually('the date is shown', async () => (await time.innerText()).includes(year));
    });
  });

  it('the deliveries of an event are read page by page', async () => {
    const { port } = server.address() as AddressInfo;
    for (const description of ['Early', 'Late'])
      await product.json<Webhook>('POST', '/v1/webhooks', {
        url: `http://127.0.0.1:${port}/${description}`,
        description,
        eventTypes: ['message.received'],
      });
    await receive('To many');
    const { id } = await eventOf('To many');
    await eventually('both webhooks got it', () => received.filter((each) => each === id).length >= 2);
    await withConsole('/console/events', async (page) => {
      // Pages of one delivery each.
      await page.route('**/v1/deliveries?*', (route) =>
        route.continue({ url: route.request().url().replace('limit=100', 'limit=1') }),
      );
      const row = page.getByRole('listitem').filter({ hasText: 'To many' });
      await row.getByRole('link', { name: 'message.received' }).click();
      const table = page.getByRole('region', { name: 'Deliveries of the event' });
      const names = table.getByRole('link', { name: /^(Early|Late)$/ });
      const more = page.getByRole('button', { name: 'Show more' });
      await eventually('both deliveries are shown', async () => {
        if (await more.isVisible()) await more.click();
        return (await names.count()) === 2;
      });
    });
  });

  it('a burst of 200 events is shown completely and in order, and the list keeps the newest 500 events', async () => {
    const log = new RedisEventLog(redis, 'tidings');
    const burst = (from: number): Promise<unknown> =>
      log.append(
        'default',
        Array.from({ length: BURST }, (_, n) => ({
          type: 'webhook.test',
          subject: `webhook:burst-${from + n}`,
          revision: 1,
          data: { webhookId: `Burst ${from + n}` },
        })),
      );
    const textsFrom = (newest: number, count: number): string[] =>
      Array.from({ length: count }, (_, n) => `Burst ${newest - n}`);
    await withConsole('/console/events?types=webhook.test', async (page) => {
      const texts = page.locator('.tail > li > .text');
      let probes = 0;
      await eventually('an event is shown', async () => {
        probes += 1;
        const probe = { type: 'webhook.test', subject: `webhook:probe-${probes}`, revision: 1 } as const;
        await log.append('default', [{ ...probe, data: { webhookId: `Probe ${probes}` } }]);
        return (await texts.count()) > 0;
      });
      await burst(1);
      await page.getByText('Burst 200', { exact: true }).waitFor();
      expect((await texts.allTextContents()).slice(0, BURST)).toEqual(textsFrom(200, BURST));
      await burst(201);
      await burst(401);
      await page.getByText('Burst 600', { exact: true }).waitFor();
      expect(await texts.allTextContents()).toEqual(textsFrom(600, 500));
    });
  });
});
