import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findBrowser, withBrowser } from '../support/browser.js';
import { Product } from '../support/product.js';

const browser = findBrowser();
if (browser === undefined) {
  process.stderr.write(
    '\n*** SKIPPED: the API docs are not tested in a browser, because Chromium is not installed. ***\n' +
      '*** On Debian or Ubuntu: sudo apt-get install chromium                                        ***\n\n',
  );
}
const withChromium = browser === undefined ? describe.skip : describe;

withChromium('the API documentation page in a real browser', () => {
  let product: Product;

  beforeAll(async () => {
    product = await Product.start();
  });

  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  it('the documentation page accepts the API key and executes a request, and its content security policy blocks nothing that the page needs', async () => {
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      const elsewhere: string[] = [];
      const home = `http://127.0.0.1:${product.gateway.port}`;
      page.on('request', (request) => {
        if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(home))
          elsewhere.push(request.url());
      });

      await page.goto(`${home}/docs`);
      await page.locator('button.authorize').first().click();
      await page.locator('.auth-container input').fill(product.apiKey);
      await page.locator('.auth-container button.authorize').click();
      await page.locator('.auth-container button.btn-done').click();

      const operation = page.locator('#operations-Status-getStatus');
      await operation.locator('.opblock-summary-control').click();
      await operation.locator('button.try-out__btn').click();
      await operation.locator('button.execute').click();
      const response = operation.locator('.live-responses-table .response');
      await response.waitFor();
      expect(await response.locator('.response-col_status').first().textContent()).toContain('200');
      expect(await response.locator('.response-col_description').first().textContent()).toContain(
        '"account"',
      );
      expect(complaints).toEqual([]);
      expect(elsewhere).toEqual([]);
    });
  });
});
