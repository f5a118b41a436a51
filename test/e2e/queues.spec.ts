import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { findBrowser, withBrowser } from '../support/browser.js';
import { Product } from '../support/product.js';

const browser = findBrowser();
if (browser === undefined) {
  process.stderr.write(
    '\n*** SKIPPED: the page of the queues is not tested in a browser, because Chromium is not installed. ***\n' +
      '*** On Debian or Ubuntu: sudo apt-get install chromium                                             ***\n\n',
  );
}
const withChromium = browser === undefined ? describe.skip : describe;

withChromium('the page of the queues in a real browser', () => {
  let product: Product;
  let home: string;

  beforeAll(async () => {
    product = await Product.start();
    home = `http://127.0.0.1:${product.gateway.port}`;
  });
  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  it('try', async () => {
    await withBrowser(browser ?? '', async (context) => {
      for (const key of [product.apiKey, '']) {
        const page = await context.newPage();
        page.on('console', (m) => console.log(m.type(), m.text(), m.location().url));
        page.on('pageerror', (e) => console.log('pageerror', e.message));
        page.on('requestfinished', async (r) => console.log(r.method(), r.url(), (await r.response())?.status()));
        await page.route(`${home}/console/test`, (route) =>
          route.fulfill({
            contentType: 'text/html',
            body: `<title>t</title>${key === '' ? '' : `<script>window.tidingsConsole = { requestHeaders: () => ({ 'X-API-Key': '${key}' }) };</script>`}<iframe src="/console/queues/board" width="1200" height="900"></iframe>`,
          }),
        );
        await page.goto(`${home}/console/test`);
        await page.waitForTimeout(4000);
        await page.screenshot({ path: `/tmp/q-${key === '' ? 'no' : 'yes'}.png`, fullPage: true });
        const frame = page.frame({ url: /board/ });
        console.log(await frame?.locator('body').innerText());
        if (key !== '') {
          for (const path of ['queue/relay', 'job-schedulers']) {
            await frame?.goto(`${home}/console/queues/board/${path}`);
            await page.waitForTimeout(2000);
            await page.screenshot({ path: `/tmp/q-${path.replace('/', '-')}.png`, fullPage: true });
          }
        }
      }
    });
  }, 120_000);
});
