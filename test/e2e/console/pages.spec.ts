import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { findBrowserFor, withBrowser } from '../../support/browser.js';
import { openConsole } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { Product } from '../../support/product.js';

const browser = findBrowserFor('the pages of the console');
const withChromium = browser === undefined ? describe.skip : describe;

/** What axe reports of a page. */
interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** How a browser shows a page. */
interface BrowserLook {
  /** In CSS pixels. */
  width?: number;
  scheme?: 'light' | 'dark';
}

/** Maximum size of what the first load transfers, in bytes. */
const MAX_FIRST_LOAD_BYTES = 120_000;
const HOSTILE = '<img src=x onerror="document.title=\'hacked\'"><script>document.title="hacked"</script>';
const PHONE = '+14155550777';

withChromium('in a real browser,', () => {
  let product: Product;
  let address: string;
  /** Paths of pages with data on each. */
  let paths: string[];

  beforeAll(async () => {
    product = await Product.start();
    address = `http://127.0.0.1:${product.gateway.port}`;
    await product.simulate('contacts', { name: HOSTILE, phoneNumber: PHONE });
    await product.simulate('messages', { phoneNumber: PHONE, text: HOSTILE });
    const { id: webhookId } = await product.json<{ id: string }>('POST', '/v1/webhooks', {
      url: 'http://127.0.0.1:9/nobody',
      description: HOSTILE.replaceAll('hacked', 'hacked too'),
    });
    const { id: sendId } = await product.json<{ id: string }>('POST', '/v1/messages/send', {
      phoneNumber: PHONE,
      message: HOSTILE,
    });
    const event = await eventually('the message has an event', async () => {
      const { events } = await product.json<{ events: { id: string; type: string }[] }>('GET', '/v1/events');
      return events.find(({ type }) => type === 'message.received');
    });
    const delivery = await eventually('the webhook has a delivery with an attempt', async () => {
      const path = `/v1/webhooks/${webhookId}/deliveries`;
      const page = await product.json<{ deliveries: { id: string; attempts: unknown[] }[] }>('GET', path);
      return page.deliveries.find(({ attempts }) => attempts.length > 0);
    });
    const conversation = await eventually('the contact has a conversation', async () => {
      const page = await product.json<{ conversations: { id: string }[] }>('GET', '/v1/conversations');
      return page.conversations[0];
    });
    paths = [
      '',
      '/conversations',
      `/conversations/${encodeURIComponent(conversation.id)}`,
      '/sends',
      `/sends/${sendId}`,
      '/events',
      `/events/${event.id}`,
      '/webhooks',
      `/webhooks/${webhookId}`,
      `/deliveries/${delivery.id}`,
      '/accounts',
      '/api-keys',
      '/audit',
    ].map((path) => `/console${path}`);
  });

  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  async function makeKey(...scopes: string[]): Promise<{ id: string; key: string }> {
    return await product.json('POST', '/v1/api-keys', { account: 'default', name: 'of a test', scopes });
  }

  async function violations(page: Page): Promise<string[]> {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    await page.evaluate(axe);
    const { violations: found } = await page.evaluate<{ violations: Violation[] }>(
      'axe.run(document, { iframes: false })',
    );
    return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  }

  /** Runs the body in a browser with the given colours and width. */
  async function inBrowser(
    body: (context: BrowserContext) => Promise<void>,
    { width = 1280, scheme = 'light' }: BrowserLook = {},
  ): Promise<void> {
    await withBrowser(browser ?? '', async (context) => {
      context.on('page', (page) => {
        void page.setViewportSize({ width, height: 800 });
        void page.emulateMedia({ colorScheme: scheme });
      });
      await body(context);
    });
  }

  it.each(['light', 'dark'] as const)(
    'axe finds no accessibility fault on any page of the console (color scheme: %s)',
    async (scheme) => {
      await inBrowser(
        async (context) => {
          const { page, goTo, settled, expectNoTrouble } = await openConsole(context, product);
          const found: Record<string, string[]> = {};
          for (const path of paths) {
            await goTo(path);
            await settled();
            const faults = await violations(page);
            if (faults.length > 0) found[path] = faults;
          }
          expect(found).toEqual({});
          expectNoTrouble();
        },
        { scheme },
      );
    },
  );

  it('every page of the console fits a width of 375 px without horizontal scrolling, and the menu can be opened there', async () => {
    await inBrowser(
      async (context) => {
        const { page, goTo, settled, expectNoTrouble } = await openConsole(context, product);
        const wide: string[] = [];
        for (const path of paths) {
          await goTo(path);
          await settled();
          const width = await page.evaluate<number>('document.documentElement.scrollWidth');
          if (width > 375) wide.push(`${path}: ${width}`);
        }
        expect(wide).toEqual([]);
        await page.getByRole('button', { name: 'Open the menu' }).click();
        await page.getByRole('link', { name: 'Webhooks' }).click();
        await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
        expectNoTrouble();
      },
      { width: 375 },
    );
  });

  it('every page of the console shows markup in names, messages and descriptions as text', async () => {
    await inBrowser(async (context) => {
      const { page, goTo, settled, expectNoTrouble } = await openConsole(context, product);
      for (const path of paths) {
        await goTo(path);
        await settled();
        // The page of the webhook has the markup in its title, as text. Markup that runs replaces the whole title.
        expect(await page.title()).not.toMatch(/^hacked/);
        expect(await page.locator('main img').count()).toBe(0);
      }
      expectNoTrouble();
    });
  });

  it('the keyboard alone is enough to sign in to the console, to change pages, and to show the shortcuts', async () => {
    await inBrowser(async (context) => {
      const page = await context.newPage();
      await page.goto(`${address}/console`);
      await page.getByLabel('API key').waitFor();
      await page.keyboard.type(product.apiKey);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      for (const [key, title] of [
        ['s', 'Sends'],
        ['w', 'Webhooks'],
        ['l', 'Audit log'],
      ] as const) {
        await page.keyboard.press('g');
        await page.keyboard.press(key);
        await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      }
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    });
  });

  it('the console links only to pages that the API key may use', async () => {
    const { key } = await makeKey('messages:read', 'events:read');
    await inBrowser(async (context) => {
      const { page, expectNoTrouble } = await openConsole(context, product, key);
      const links = await page
        .getByRole('navigation', { name: 'Console' })
        .getByRole('link')
        .allTextContents();
      expect(links).toEqual(['Overview', 'Conversations', 'Sends', 'Events']);
      await page.getByRole('heading', { name: 'The last hour' }).waitFor();
      expectNoTrouble();
    });
  });

  it('the console returns to the sign-in form and shows the reason when its API key is revoked', async () => {
    const { id, key } = await makeKey('messages:read', 'admin');
    await inBrowser(async (context) => {
      const { page } = await openConsole(context, product, key);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await product.json('DELETE', `/v1/api-keys/${id}`).catch(() => undefined);
      await page.getByRole('alert').getByText('the key was revoked').waitFor();
      await page.getByLabel('API key').waitFor();
    });
  });

  it('the queues page marks its requests as unattended if the last user input was more than a minute ago', async () => {
    await inBrowser(async (context) => {
      await context.addInitScript(
        '{ const { now } = Date; Date.now = () => now() + (window.shiftMs ?? 0); }',
      );
      const { page } = await openConsole(context, product, product.apiKey, '/console/queues');
      const board = page.frameLocator('iframe');
      await board.getByText('Jobs').first().waitFor();
      const untilRead = (isUnattended: boolean): Promise<unknown> =>
        page.waitForRequest(
          (request) =>
            request.url().includes('/queues/board/api/queues') &&
            'x-tidings-unattended' in request.headers() === isUnattended,
        );

      const unattended = untilRead(true);
      await page.evaluate('window.shiftMs = 61_000');
      await unattended;
      const attended = untilRead(false);
      await board.locator('body').hover();
      await attended;
    });
  });

  it('two API keys can be signed in to the console at the same time, and the user can switch between them', async () => {
    const { key } = await makeKey('events:read');
    await inBrowser(async (context) => {
      const { page } = await openConsole(context, product);
      const choice = page.getByLabel('Signed in as');
      await choice.selectOption({ label: 'Sign in with another API key …' });
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      const links = page.getByRole('navigation', { name: 'Console' }).getByRole('link');
      await eventually('the other key is in use', async () => (await links.count()) === 2);
      await choice.selectOption({ index: 0 });
      await eventually('the first key is in use', async () => (await links.count()) > 2);
    });
  });

  it('the console says that it is reconnecting while the gateway restarts, and then continues by itself', async () => {
    const own = await Product.start();
    try {
      await inBrowser(async (context) => {
        const { page } = await openConsole(context, own);
        const mark = page.locator('aside').getByRole('status');
        await eventually('the page is live', async () => (await mark.getAttribute('class')) === 'live open');
        const { port } = own.gateway;
        await own.gateway.stop();
        await page.locator('aside').getByText('Reconnecting').waitFor();
        await own.startGateway({ PORT: String(port) });
        await eventually(
          'the page is live again',
          async () => (await mark.getAttribute('class')) === 'live open',
        );
        await page.getByText('Everything works.').waitFor();
      });
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });

  it('the first load of the console transfers at most 120 KB', async () => {
    await inBrowser(async (context) => {
      const page = await context.newPage();
      let bytes = 0;
      page.on('response', (response) => {
        void response
          .request()
          .sizes()
          .then(({ responseBodySize }) => {
            bytes += responseBodySize;
          })
          .catch(() => undefined);
      });
      await page.goto(`${address}/console`);
      await page.getByLabel('API key').fill(product.apiKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'The last hour' }).waitFor();
      await page.locator('.plot canvas').first().waitFor();
      process.stderr.write(`console: ${bytes} bytes until the overview is drawn\n`);
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThan(MAX_FIRST_LOAD_BYTES);
    });
  });

  it('a page of another site can neither frame the console nor change anything through the API', async () => {
    const before = (await product.json<{ webhooks: unknown[] }>('GET', '/v1/webhooks')).webhooks.length;
    const foreign = createServer((_, reply) => {
      reply.setHeader('content-type', 'text/html');
      reply.end(`<iframe src="${address}/console"></iframe>`);
    }).listen(0, '127.0.0.1');
    await once(foreign, 'listening');
    try {
      await inBrowser(async (context) => {
        const { page: signedIn } = await openConsole(context, product);
        await signedIn.getByRole('heading', { name: 'Overview' }).waitFor();
        const page = await context.newPage();
        const refusals: string[] = [];
        page.on('console', (message) => refusals.push(message.text()));
        // Another host name is another site.
        await page.goto(`http://localhost:${(foreign.address() as AddressInfo).port}/`);
        // The browser sends this request, but the page cannot read the reply.
        await expect(
          page.evaluate(
            `fetch(${JSON.stringify(`${address}/v1/webhooks`)}, {
              method: 'POST', credentials: 'include', mode: 'no-cors',
              headers: { 'Content-Type': 'text/plain' }, body: '{"url":"https://evil.example.com"}',
            })`,
          ),
        ).rejects.toThrow('Failed to fetch');
        const headers = `{ 'X-Tidings-Console': 'none' }`;
        await expect(
          page.evaluate(
            `fetch(${JSON.stringify(`${address}/console/sessions`)}, { method: 'POST', headers: ${headers} })`,
          ),
        ).rejects.toThrow('Failed to fetch');
        await eventually('the frame is refused', () =>
          Promise.resolve(refusals.some((text) => /frame/i.test(text))),
        );
        expect(await page.frameLocator('iframe').getByLabel('API key').count()).toBe(0);
      });
    } finally {
      foreign.close();
    }
    const after = (await product.json<{ webhooks: unknown[] }>('GET', '/v1/webhooks')).webhooks.length;
    expect(after).toBe(before);
  });
});
