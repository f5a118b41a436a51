import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findBrowserFor, withBrowser } from '../support/browser.js';
import { Product } from '../support/product.js';

const browser = findBrowserFor('the API docs');
const withChromium = browser === undefined ? describe.skip : describe;

withChromium('in a real browser,', () => {
  let product: Product;

  beforeAll(async () => {
    product = await Product.start();
  });

  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  it('the API documentation page accepts an API key and executes a request, and its content security policy blocks nothing that the page needs', async () => {
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
      const form = page.locator('.auth-container').filter({ has: page.locator('#api_key_value') });
      await form.locator('input').fill(product.apiKey);
      await form.locator('button.authorize').click();
      await page.locator('.auth-container button.btn-done').first().click();

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

  it('the API documentation page shows how to send a first message, lists each error of the API once, and collapses the errors of each operation', async () => {
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      const home = `http://127.0.0.1:${product.gateway.port}`;
      // The address with a slash leads to the same page.
      await page.goto(`${home}/docs/`);
      expect(page.url()).toBe(`${home}/docs`);
      expect(await page.title()).toBe('Tidings API');
      expect(await page.locator('#start').textContent()).toContain(`curl -sS ${home}/v1/messages/send`);
      const statuses = page.locator('#error-list dt');
      await statuses.first().waitFor();
      const listed = await statuses.allTextContents();
      expect(listed).toEqual(
        expect.arrayContaining(['400', '401', '403', '404', '409', '410', '413', '415', '422', '429', '503']),
      );
      expect(new Set(listed).size).toBe(listed.length);
      expect(await page.locator('#error-list dd').allTextContents()).not.toContain('');

      const operation = page.locator('#operations-Messages-sendMessage');
      await operation.locator('.opblock-summary-control').click();
      const errors = operation.locator('details.errors');
      await errors.waitFor();
      expect(await errors.locator('summary').textContent()).toMatch(/^Errors: 400, 401/);
      expect(await operation.locator('tr.response').count()).toBe(1);
      const rows = errors.locator('li');
      expect(await rows.count()).toBeGreaterThan(1);
      expect(await rows.first().isVisible()).toBe(false);
      await errors.locator('summary').click();
      await rows.first().waitFor();
      for (const text of await rows.allTextContents()) expect(text).toMatch(/^\d{3} \S/);
      const { height = Number.NaN } = (await operation.boundingBox()) ?? {};
      expect(height).toBeLessThan(2_000);
    });
  });

  it.each(['light', 'dark'] as const)(
    'the API documentation page fits windows 375 px and 1,280 px wide (color scheme: %s)',
    async (colorScheme) => {
      await withBrowser(browser ?? '', async (context) => {
        for (const width of [375, 1_280]) {
          const page = await context.newPage();
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 900 });
          await page.goto(`http://127.0.0.1:${product.gateway.port}/docs`);
          const operation = page.locator('#operations-Messages-sendMessage');
          await operation.locator('.opblock-summary-control').click();
          await operation.locator('details.errors').waitFor();
          // Nothing is cut off, and nothing makes the page wider than the screen.
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
          const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
          expect(background).toBe(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(18, 22, 28)');
          const folder = process.env['TIDINGS_SCREENSHOTS'];
          if (folder !== undefined) {
            await page.screenshot({ path: `${folder}/docs-${colorScheme}-${width}.png` });
            await operation.screenshot({ path: `${folder}/docs-send-${colorScheme}-${width}.png` });
          }
        }
      });
    },
  );
});
