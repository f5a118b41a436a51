import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConversationList, CreatedWebhook } from '#client';
import { closeBrowser, findBrowser, withBrowser } from '../../support/browser.js';
import { openConsole } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { writePastHour } from '../../support/past-hour.js';
import { ROOT } from '../../support/process.js';
import { Product } from '../../support/product.js';
import { startTestRedis } from '../../support/redis-server.js';
import { runShop, tellHistory } from '../../support/shop-day.js';
import { WebhookReceiver } from '../../support/webhook-receiver.js';

/*
 * Takes screenshots of every page with test data: `npm run docs:console`. Writes all of them to .data/screenshots.
 * Those that the documents show are also written to docs/images.
 */
const browser = findBrowser();
const isWanted = process.env['TIDINGS_GENERATE'] === '1' && browser !== undefined;

const LOOKS = [
  { name: 'light', width: 1280, scheme: 'light' },
  { name: 'dark', width: 1280, scheme: 'dark' },
  { name: 'phone', width: 375, scheme: 'light' },
] as const;
/** The screenshots that the documents show. */
const IN_DOCUMENTS: ReadonlySet<string> = new Set(['overview-light', 'conversation-light']);

const KEYS = [
  ['Order service', ['messages:send', 'messages:read']],
  ['Support desk', ['messages:send', 'messages:read', 'events:read']],
  ['Data warehouse', ['events:read']],
] as const;

(isWanted ? describe : describe.skip)('screenshots of the console', () => {
  let product: Product;
  let receiver: WebhookReceiver;
  const pages: [name: string, path: string][] = [];

  beforeAll(async () => {
    // After this short confirmation period, a send that upstream does not show becomes unknown.
    product = await Product.startOn(await startTestRedis(), { SEND_CONFIRM_MS: '1000' }, tellHistory);
    receiver = await WebhookReceiver.start();
    await writePastHour(product.redis.url);
    await eventually('the history is read', async () => {
      const page = await product.json<ConversationList>('GET', '/v1/conversations');
      return page.conversations.length > 0 && page.conversations.every(({ preview }) => preview !== null);
    });
    const made = await product.json<CreatedWebhook>('POST', '/v1/webhooks', {
      url: receiver.url,
      description: 'Order service',
      eventTypes: ['message.*', 'send.*'],
    });
    receiver.secret = made.secret;
    const failing = await product.json<CreatedWebhook>('POST', '/v1/webhooks', {
      url: 'http://127.0.0.1:9/billing',
      description: 'Billing',
      eventTypes: ['send.*'],
    });
    await product.json('POST', '/v1/webhooks', {
      url: 'https://warehouse.example.com/tidings',
      description: 'Data warehouse',
      enabled: false,
    });
    for (const [name, scopes] of KEYS)
      await product.json('POST', '/v1/api-keys', { account: 'default', name, scopes });
    const { talker, deliveredSend, unknownSend } = await runShop(product);
    const { conversations } = await product.json<ConversationList>(
      'GET',
      `/v1/conversations?q=${encodeURIComponent(talker)}`,
    );
    const { events } = await product.json<{ events: { id: string; type: string }[] }>('GET', '/v1/events');
    const delivery = await eventually('a delivery has failed twice', async () => {
      const path = `/v1/webhooks/${failing.id}/deliveries`;
      const page = await product.json<{ deliveries: { id: string; attempts: unknown[] }[] }>('GET', path);
      return page.deliveries.find(({ attempts }) => attempts.length > 1);
    });
    const received = events.find(({ type }) => type === 'message.received');
    pages.push(
      ['overview', ''],
      ['conversations', '/conversations'],
      ['conversation', `/conversations/${encodeURIComponent(conversations[0]?.id ?? '')}`],
      ['sends', '/sends'],
      ['send', `/sends/${deliveredSend}`],
      ['send-unknown', `/sends/${unknownSend}`],
      ['events', '/events'],
      ['event', `/events/${received?.id ?? ''}`],
      ['webhooks', '/webhooks'],
      ['webhook', `/webhooks/${made.id}`],
      ['webhook-failing', `/webhooks/${failing.id}`],
      ['delivery', `/deliveries/${delivery.id}`],
      ['accounts', '/accounts'],
      ['api-keys', '/api-keys'],
      ['audit', '/audit'],
      ['queues', '/queues'],
    );
  });

  afterAll(async () => {
    await closeBrowser();
    await receiver[Symbol.asyncDispose]();
    await product[Symbol.asyncDispose]();
  });

  it.each(LOOKS)(
    'a screenshot is made of each page of the console (appearance: $name)',
    async ({ name: look, width, scheme }) => {
      const folder = join(ROOT, '.data/screenshots');
      const images = join(ROOT, 'docs/images');
      await mkdir(folder, { recursive: true });
      await mkdir(images, { recursive: true });
      await withBrowser(browser ?? '', async (context) => {
        context.on('page', (page) => {
          void page.setViewportSize({ width, height: width < 800 ? 812 : 860 });
          void page.emulateMedia({ colorScheme: scheme });
        });
        const { page, goTo, settled } = await openConsole(context, product);
        const take = async (name: string): Promise<void> => {
          const picture = await page.screenshot({ animations: 'disabled' });
          expect(picture.length).toBeGreaterThan(5_000);
          await writeFile(join(folder, `${name}-${look}.png`), picture);
          if (IN_DOCUMENTS.has(`${name}-${look}`))
            await writeFile(join(images, `console-${name}.png`), picture);
        };
        for (const [name, path] of pages) {
          await goTo(`/console${path}`);
          // Moves the pointer away from rows, because a row below the pointer would look selected.
          await page.mouse.move(0, 0);
          await settled();
          if (name === 'overview') await page.locator('.plot canvas').last().waitFor();
          if (name === 'queues') await page.frameLocator('iframe').getByText('Jobs').first().waitFor();
          if (name === 'conversation')
            await page.locator('.row[aria-current=true] .unread-count').waitFor({ state: 'detached' });
          await take(name);
        }
        await goTo('/console/webhooks');
        await settled();
        await page.getByRole('button', { name: 'Add a webhook' }).first().click();
        await take('dialog');
        await page.keyboard.press('Escape');
        if (look === 'phone') {
          await page.getByRole('button', { name: 'Open the menu' }).click();
          await take('menu');
        }
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByLabel('API key').waitFor();
        await take('sign-in');
      });
    },
  );
});
