import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { findBrowserFor, withBrowser } from '../../support/browser.js';
import { eventually } from '../../support/eventually.js';
import { HttpsProxy } from '../../support/https-proxy.js';
import { Product } from '../../support/product.js';

const browser = findBrowserFor('the sessions of the console over HTTPS');
const withChromium = browser === undefined ? describe.skip : describe;

withChromium('over HTTPS, in a real browser,', () => {
  let product: Product;
  let proxy: HttpsProxy;
  let address: string;

  beforeAll(async () => {
    product = await Product.start();
    proxy = await HttpsProxy.start(product);
    ({ address } = proxy);
  });

  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await product[Symbol.asyncDispose]();
  });

  async function signIn(page: Page, key: string): Promise<void> {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }

  it('a reload of the console keeps the user signed in and on the same page, by a cookie that scripts cannot read', async () => {
    await withBrowser(
      browser ?? '',
      async (context) => {
        const page = await context.newPage();
        await page.goto(`${address}/console`);
        await signIn(page, product.apiKey);
        const [cookie] = await context.cookies();
        expect(cookie).toMatchObject({
          name: '__Host-tidings',
          httpOnly: true,
          secure: true,
          sameSite: 'Strict',
        });
        expect(cookie?.value).not.toContain(product.apiKey);
        expect(await page.evaluate('document.cookie')).toBe('');
        await page.getByRole('link', { name: 'Webhooks' }).first().click();
        await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
        await page.reload();
        await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
        await eventually('the page is live', async () => page.locator('aside .live.open').isVisible());
      },
      { ignoreHTTPSErrors: true },
    );
  });

  it('two API keys stay signed in to the console across a reload, and signing out ends only the session in use', async () => {
    const made = await product.json<{ key: string }>('POST', '/v1/api-keys', {
      account: 'default',
      name: 'Reader',
      scopes: ['events:read'],
    });
    await withBrowser(
      browser ?? '',
      async (context) => {
        const page = await context.newPage();
        await page.goto(`${address}/console`);
        await signIn(page, product.apiKey);
        await page.getByLabel('Signed in as').selectOption({ label: 'Sign in with another API key …' });
        await signIn(page, made.key);
        await page.reload();
        const options = page.getByLabel('Signed in as').locator('option');
        await eventually('both are restored', async () => (await options.count()) === 3);
        const links = page.getByRole('navigation', { name: 'Console' }).getByRole('link');
        expect(await links.count()).toBe(2);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await eventually('the other key is in use', async () => (await links.count()) > 2);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByLabel('API key').waitFor();
        await page.reload();
        await page.getByLabel('API key').waitFor();
        expect(await context.cookies()).toEqual([]);
      },
      { ignoreHTTPSErrors: true },
    );
  });

  it('the console extends its session while somebody uses a page that makes no requests', async () => {
    await withBrowser(
      browser ?? '',
      async (context) => {
        const page = await context.newPage();
        await page.clock.install();
        await page.goto(`${address}/console`);
        await signIn(page, product.apiKey);
        await page.getByRole('link', { name: 'Events' }).first().click();
        await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
        let isExtended = false;
        page.on('request', (request) => {
          if (!request.url().endsWith('/v1/caller')) return;
          isExtended ||= !('x-tidings-unattended' in request.headers());
        });
        await eventually('the session is extended', async () => {
          await page.keyboard.press('Shift');
          await page.clock.runFor(30_000);
          return isExtended;
        });
      },
      { ignoreHTTPSErrors: true },
    );
  });

  it('the console shows the sign-in form even if the browser runs no animation frame', async () => {
    await withBrowser(
      browser ?? '',
      async (context) => {
        const page = await context.newPage();
        await page.addInitScript('window.requestAnimationFrame = () => 0');
        for (let visit = 0; visit < 5; visit += 1) {
          await page.goto(`${address}/console`);
          await page.getByLabel('API key').waitFor();
        }
      },
      { ignoreHTTPSErrors: true },
    );
  });

  it('an API key stays signed in to the console, and an error is shown, if the gateway does not confirm the sign-out', async () => {
    await withBrowser(
      browser ?? '',
      async (context) => {
        const page = await context.newPage();
        await page.goto(`${address}/console`);
        await signIn(page, product.apiKey);
        const requests = '**/console/sessions/*';
        await page.route(requests, (route) => route.abort());
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByText('The gateway cannot be reached').first().waitFor();
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
        await page.unroute(requests);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByLabel('API key').waitFor();
      },
      { ignoreHTTPSErrors: true },
    );
  });

  it('a page of another site cannot use the cookie of the console, with or without the header X-Tidings-Console', async () => {
    await withBrowser(
      browser ?? '',
      async (context) => {
        const page = await context.newPage();
        await page.goto(`${address}/console`);
        await signIn(page, product.apiKey);
        const before = await product.json('GET', '/v1/webhooks');
        const foreign = await context.newPage();
        // Another host name is another site.
        await foreign.goto(address.replace('localhost', '127.0.0.1') + '/docs');
        const call = (headers: object): Promise<unknown> =>
          foreign.evaluate(
            `fetch(${JSON.stringify(`${address}/v1/webhooks`)}, {
              method: 'POST', credentials: 'include', body: '{"url":"https://evil.example.com"}',
              headers: ${JSON.stringify({ 'Content-Type': 'application/json', ...headers })},
            }).then(({ status }) => status, () => 'refused')`,
          );
        expect(await call({})).toBe('refused');
        expect(await call({ 'X-Tidings-Console': 'none' })).toBe('refused');
        expect(await product.json('GET', '/v1/webhooks')).toEqual(before);
      },
      { ignoreHTTPSErrors: true },
    );
  });
});
