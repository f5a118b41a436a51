import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { findBrowserFor, withBrowser } from '../../support/browser.js';
import { tryToCloseDialog } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { Product } from '../../support/product.js';

const browser = findBrowserFor('the console while requests fail');
const withChromium = browser === undefined ? describe.skip : describe;

withChromium('in a real browser,', () => {
  let product: Product;
  let address: string;

  beforeAll(async () => {
    product = await Product.start();
    address = `http://127.0.0.1:${product.gateway.port}/console`;
  });

  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  async function signIn(page: Page, key: string): Promise<void> {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }

  async function onConsole(body: (page: Page) => Promise<void>): Promise<void> {
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      await page.goto(address);
      await signIn(page, product.apiKey);
      try {
        await body(page);
      } catch (error) {
        throw new Error(`the page shows:\n${await page.locator('body').innerText()}`, { cause: error });
      }
    });
  }

  const link = (page: Page, name: string): Promise<void> =>
    page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name }).click();

  it('the console asks which API key to use if the API key in use is revoked', async () => {
    const { id, key } = await product.json<{ id: string; key: string }>('POST', '/v1/api-keys', {
      account: 'default',
      name: 'Reader',
      scopes: ['messages:read', 'events:read', 'webhooks:manage', 'admin'],
    });
    await onConsole(async (page) => {
      await page.getByLabel('Signed in as').selectOption({ label: 'Sign in with another API key …' });
      await signIn(page, key);
      expect((await product.call('DELETE', `/v1/api-keys/${id}`)).status).toBe(204);
      // The console notices the revocation when it reads a page, or earlier from the stream: then no link is left.
      await page.evaluate(`document.querySelector('nav a[href="/console/webhooks"]')?.click()`);
      await page.getByText('The sign-in with the API key “Reader” has ended').waitFor();
      await page.getByRole('button', { name: /^Continue as default/ }).click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    });
  });

  it('the console shows an error if the script file of a page is missing, and offers to reload the console', async () => {
    await onConsole(async (page) => {
      const files = '**/console/assets/audit-page-*.js';
      await page.route(files, (route) => route.fulfill({ status: 404 }));
      await link(page, 'Audit log');
      await page.getByRole('heading', { name: 'The page could not be loaded' }).waitFor();
      await page.unroute(files);
      await page.getByRole('button', { name: 'Reload the console' }).click();
      await signInAgain(page);
      await page.getByRole('heading', { name: 'Audit log' }).waitFor();
    });
  });

  /** Over plain HTTP, a reload asks for the key again. */
  async function signInAgain(page: Page): Promise<void> {
    await page.getByLabel('API key').fill(product.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  it.each(['/v1/status', '/v1/webhooks'])(
    'the overview of the console does not say that everything works while %s cannot be read',
    async (path) => {
      await onConsole(async (page) => {
        const calm = page.getByText('Everything works.');
        await calm.waitFor();
        await page.route(`**${path}`, (route) => route.abort());
        await page.getByText('The gateway cannot be reached').waitFor();
        expect(await calm.isVisible()).toBe(false);
        await page.unroute(`**${path}`);
        await calm.waitFor();
      });
    },
  );

  it('the console keeps the draft of a message while the user visits another page', async () => {
    await onConsole(async (page) => {
      await page.evaluate("history.pushState(null, '', '/console/conversations/%2B14155550123')");
      await page.evaluate("dispatchEvent(new PopStateEvent('popstate'))");
      const box = page.getByRole('textbox', { name: 'Message' });
      await box.fill('Half of a message');
      await link(page, 'Sends');
      await page.getByRole('heading', { name: 'Sends' }).waitFor();
      await page.goBack();
      await eventually('the draft is shown', async () => (await box.inputValue()) === 'Half of a message');
    });
  });

  it('the console shows every new API key until the user confirms that the key is stored', async () => {
    await onConsole(async (page) => {
      await link(page, 'API keys');
      const create = async (name: string): Promise<void> => {
        await page.getByRole('button', { name: 'Create an API key' }).first().click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Name').fill(name);
        await dialog.getByLabel('messages:read').check();
        await dialog.getByRole('button', { name: 'Create the API key' }).click();
        await page.getByText(`The API key ${name} is created.`).waitFor();
      };
      await create('First');
      await create('Second');
      await link(page, 'Audit log');
      await page.getByRole('heading', { name: 'Audit log' }).waitFor();
      await page.goBack();
      await page.getByText('The API key First is created.').waitFor();
      await page.getByRole('button', { name: 'I have stored it' }).first().click();
      await page.getByText('The API key First is created.').waitFor({ state: 'hidden' });
      await page.getByText('The API key Second is created.').waitFor();
    });
  });

  it('the dialog of a new account stays open while its request runs, and shows why the account was refused', async () => {
    await onConsole(async (page) => {
      let refuse: (() => void) | undefined;
      await page.route('**/v1/accounts', async (route) => {
        if (route.request().method() !== 'POST') {
          await route.continue();
          return;
        }
        await new Promise<void>((resolve) => (refuse = resolve));
        await route.fulfill({ status: 409, json: { code: 'conflict', detail: 'It exists.' } });
      });
      await link(page, 'Accounts');
      await page.getByRole('button', { name: 'Add an account' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add an account' });
      await dialog.getByRole('button', { name: 'Add the account' }).click();
      await eventually('the account is requested', () => refuse);
      await tryToCloseDialog(page);
      expect(await dialog.isVisible()).toBe(true);
      refuse?.();
      await dialog.getByText('It exists.').waitFor();
    });
  });

  it('the console creates no API key if the expiry in the form is incomplete', async () => {
    await onConsole(async (page) => {
      await link(page, 'API keys');
      await page.getByRole('button', { name: 'Create an API key' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('Half');
      await dialog.getByLabel('messages:read').check();
      await dialog.getByLabel('Expires').focus();
      await page.keyboard.type('12');
      await dialog.locator('input[type=datetime-local]:invalid').waitFor();
      await dialog.getByRole('button', { name: 'Create the API key' }).click();
      expect(await dialog.isVisible()).toBe(true);
      const { apiKeys } = await product.json<{ apiKeys: { name: string }[] }>('GET', '/v1/api-keys');
      expect(apiKeys.map(({ name }) => name)).not.toContain('Half');
    });
  });
});
