import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext, FrameLocator, Page } from 'playwright-core';
import { findBrowserFor, withBrowser } from '../support/browser.js';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

const browser = findBrowserFor('the page of the queues');
const withChromium = browser === undefined ? describe.skip : describe;

const PHONE_NUMBER = '+14155550123';
const TEXT = 'a text that the queues must not show';

/** A page with the queues in a frame, and what the browser reported about it. */
interface Framed {
  page: Page;
  frame: FrameLocator;
  /** Errors in the console of the browser. */
  complaints: string[];
  /** URLs on other hosts that were requested. */
  elsewhere: string[];
  /** Texts of the replies with data. */
  replies: string[];
}

withChromium('in a real browser,', () => {
  let product: Product;
  let home: string;

  beforeAll(async () => {
    product = await Product.start();
    home = `http://127.0.0.1:${product.gateway.port}`;
    await product.worker.stop();
    const sent = await product.json<{ id: string }>('POST', '/v1/messages/send', {
      phoneNumber: PHONE_NUMBER,
      message: TEXT,
    });
    expect(sent.id).toMatch(/^snd_/);
  });
  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  /** Opens a page of the gateway's origin that frames the queues, as the console does. */
  async function openFramed(context: BrowserContext, script: string): Promise<Framed> {
    const page = await context.newPage();
    const complaints: string[] = [];
    const elsewhere: string[] = [];
    const replies: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${home}/`))
        elsewhere.push(request.url());
    });
    // The board sends a request every few seconds, so a test removes these handlers before it ends.
    await page.route('**/console/queues/board/api/**', async (route) => {
      const response = await route.fetch();
      replies.push(await response.text());
      await route.fulfill({ response });
    });
    await page.route(`${home}/console/framed`, async (route) => {
      const frame = '<iframe src="/console/queues/board" style="width: 1200px; height: 800px"></iframe>';
      const body = `<!doctype html><title>Console</title><link rel="icon" href="data:," /><script>${script}</script>${frame}`;
      await route.fulfill({ contentType: 'text/html', body });
    });
    await page.goto(`${home}/console/framed`);
    return { page, frame: page.frameLocator('iframe'), complaints, elsewhere, replies };
  }

  const providing = (key: string): string =>
    `window.tidingsConsole = { requestHeaders: () => ({ 'X-API-Key': '${key}' }) };`;

  it('the page of the queues, in a frame of the console, shows queues and jobs without texts or phone numbers, and loads nothing from another host', async () => {
    await withBrowser(browser ?? '', async (context) => {
      const { page, frame, complaints, elsewhere, replies } = await openFramed(
        context,
        providing(product.apiKey),
      );
      for (const name of ['relay', 'poll', 'deliveries'])
        await frame.getByRole('link', { name }).first().waitFor();
      await frame.getByRole('link', { name: 'relay' }).first().click();
      await frame.getByText('Wakes a worker: recipients have sends to relay').waitFor();
      await frame.getByText('…123').first().waitFor();
      await frame.getByRole('link', { name: 'hint' }).click();
      await eventually('the frame shows the job', () =>
        page.frames().some((one) => one.url().startsWith(`${home}/console/queues/board/queue/relay/`)),
      );
      for (const name of ['Options', 'Logs', 'Error', 'Data'])
        await frame.getByRole('tab', { name, exact: true }).click();
      await frame.getByText('…123').first().waitFor();
      await frame
        .locator('header button')
        .filter({ has: frame.locator('.rds-b1') })
        .click();
      await frame.getByText('Peak memory usage').waitFor();
      await frame.getByRole('button', { name: 'Close' }).click();
      await frame.getByRole('dialog').waitFor({ state: 'detached' });
      // Bull Board closes a dialog that opens right after another one.
      await eventually('the settings are shown', async () => {
        await frame.locator('header button').last().click({ timeout: 2_000 });
        await frame.getByText('Polling interval').waitFor({ timeout: 2_000 });
        return true;
      });
      await frame.getByRole('button', { name: 'Close' }).click();
      await page.evaluate(`frames[0].location.href = '/console/queues/board/job-schedulers'`);
      await frame.getByText('scheduler').first().waitFor();
      await page.unrouteAll({ behavior: 'wait' });
      expect(complaints).toEqual([]);
      expect(elsewhere).toEqual([]);
      expect(replies.length).toBeGreaterThan(2);
      expect(replies.join('\n')).not.toMatch(/must not show|5550123/);
    });
  });

  it('the page of the queues, in a frame without a credential from the console, shows no data and asks the user to open the page from the console', async () => {
    await withBrowser(browser ?? '', async (context) => {
      const { page, frame, elsewhere, replies } = await openFramed(context, '');
      await frame.getByRole('alert').waitFor();
      expect(await frame.getByRole('alert').textContent()).toBe(
        'Not signed in. Open this page from the console.',
      );
      for (const reply of replies) expect(JSON.parse(reply)).toMatchObject({ code: 'unauthenticated' });
      expect(replies.length).toBeGreaterThan(0);

      // The next request succeeds, because the console has signed in meanwhile.
      await page.evaluate(providing(product.apiKey));
      await frame.getByRole('link', { name: 'relay' }).first().waitFor();
      expect(await frame.getByRole('alert').count()).toBe(0);
      await page.unrouteAll({ behavior: 'wait' });
      expect(elsewhere).toEqual([]);
    });
  });

  it('the page of the queues cannot be framed by a page of another origin', async () => {
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      await page.route('http://localhost:9/', (route) =>
        route.fulfill({
          contentType: 'text/html',
          body: `<!doctype html><iframe src="${home}/console/queues/board"></iframe>`,
        }),
      );
      await page.goto('http://localhost:9/');
      await eventually('the browser refuses the frame', () =>
        page.frames().some((one) => one.url().startsWith('chrome-error:')),
      );
    });
  });
});
