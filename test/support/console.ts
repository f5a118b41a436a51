import { expect } from '@jest/globals';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { eventually } from './eventually.js';
import type { Product } from './product.js';

/** A page of the console, and what went wrong on it. */
export interface OpenConsole {
  page: Page;
  /** Errors, broken rules of the content security policy, and requests to other hosts. */
  troubles: string[];
  /** URLs of all requests so far, oldest first. */
  requests: readonly string[];
  /** Goes to a path of the console without a reload, which would sign out. */
  goTo: (path: string) => Promise<void>;
  /** Waits until the page shows its content: nothing is loading, and no request but streams of events is open. */
  settled: () => Promise<void>;
  expectNoTrouble: () => void;
}

/**
 * Opens the console in a new page and signs in.
 * @param path path that is opened, and shown after the sign-in
 */
export async function openConsole(
  browser: BrowserContext,
  product: Product,
  key = product.apiKey,
  path = '/console',
): Promise<OpenConsole> {
  const open = await openSignIn(browser, product, path);
  await open.page.getByLabel('API key').fill(key);
  await open.page.getByRole('button', { name: 'Sign in' }).click();
  await open.page.locator('#content h1').first().waitFor();
  return open;
}

/** Opens the console in a new page, which asks for an API key. @param path path that is opened */
export async function openSignIn(
  browser: BrowserContext,
  product: Product,
  path = '/console',
): Promise<OpenConsole> {
  const origin = `http://127.0.0.1:${product.gateway.port}`;
  const page = await browser.newPage();
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(String(error)));
  page.on('console', (message) => {
    // The browser reports each reply with an error status. The pages show these themselves.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      troubles.push(message.text());
  });
  const requests: string[] = [];
  const open = new Set<Request>();
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  page.on('request', (request) => {
    const url = request.url();
    requests.push(url);
    if (!url.includes('/stream')) open.add(request);
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) troubles.push(`request to ${url}`);
  });
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${origin}${path}`);
  return {
    page,
    troubles,
    requests,
    goTo: async (to) => {
      await page.evaluate(
        `history.pushState(null, '', ${JSON.stringify(to)}); dispatchEvent(new PopStateEvent('popstate'));`,
      );
    },
    settled: async () => {
      // The router shows the page of a new address in the next frame, and the page requests its data one frame later.
      await page.evaluate(
        'new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))',
      );
      await page.locator('#content h1').first().waitFor();
      await eventually(
        'the page is loaded',
        async () => open.size === 0 && (await page.locator('#content .loading').count()) === 0,
      );
    },
    expectNoTrouble: () => {
      expect(troubles).toEqual([]);
    },
  };
}

/** Tries each way to close a dialog. A busy dialog must stay open. */
export async function tryToCloseDialog(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  for (const name of ['Cancel', 'Close'])
    if (await dialog.isVisible())
      await dialog.getByRole('button', { name, exact: true }).click({ force: true });
  // Chromium lets a page prevent only the first Escape.
  for (let n = 0; n < 2; n += 1) await page.keyboard.press('Escape');
}
