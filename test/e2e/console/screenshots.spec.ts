import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findBrowser, withBrowser } from '../../support/browser.js';
import { openConsole } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { writePastHour } from '../../support/past-hour.js';
import { ROOT } from '../../support/process.js';
import { Product } from '../../support/product.js';
import { WebhookReceiver } from '../../support/webhook-receiver.js';

/*
 * Makes pictures of every page on seeded data: `npm run docs:console`. All of them go to .data/screenshots, and those
 * that the documents show to docs/images.
 */
const browser = findBrowser();
const isWanted = process.env['TIDINGS_GENERATE'] === '1' && browser !== undefined;

const LOOKS = [
  { name: 'light', width: 1280, scheme: 'light' },
  { name: 'dark', width: 1280, scheme: 'dark' },
  { name: 'phone', width: 375, scheme: 'light' },
] as const;
/** Pictures that the documents show. */
const IN_DOCUMENTS: ReadonlySet<string> = new Set(['overview-light', 'conversation-light']);

const PEOPLE = [
  'Ada Lovelace',
  'Grace Hopper',
  'Alan Turing',
  'Katherine Johnson',
  'Edsger Dijkstra',
  'Radia Perlman',
];
const TEXTS = [
  'Is my order on its way?',
  'Thank you!',
  'Can you call me back?',
  'The parcel arrived.',
  'Which day?',
  'Great',
];

(isWanted ? describe : describe.skip)('pictures of the console', () => {
  let product: Product;
  let receiver: WebhookReceiver;
  const pages: [name: string, path: string][] = [];

  beforeAll(async () => {
    product = await Product.start();
    receiver = await WebhookReceiver.start();
    await writePastHour(product.redis.url);
    const numbers = PEOPLE.map((_, i) => `+1415555${String(100 + i).padStart(4, '0')}`);
    for (const [i, name] of PEOPLE.entries())
      await product.simulate('contacts', { name, phoneNumber: numbers[i] });
    const made = await product.json<{ id: string; secret: string }>('POST', '/v1/webhooks', {
      url: receiver.url,
      description: 'Order service',
      eventTypes: ['message.*', 'send.*'],
    });
    receiver.secret = made.secret;
    await product.json('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/billing', description: 'Billing' });
    await product.json('POST', '/v1/api-keys', {
      account: 'default',
      name: 'Order service',
      scopes: ['messages:send', 'messages:read'],
    });
    for (const [i, phoneNumber] of numbers.entries()) {
      await product.simulate('messages', { phoneNumber, text: TEXTS[i] });
      await product.json('POST', '/v1/messages/send', {
        phoneNumber,
        message: `Hello ${PEOPLE[i]?.split(' ')[0] ?? ''}, your parcel is on its way. It arrives on Friday.`,
        reference: `order-${1041 + i}`,
      });
    }
    await product.json('POST', '/v1/messages/send', {
      phoneNumber: numbers[0],
      message: 'Your parcel arrives today between 2 and 4.',
      sendAt: new Date(Date.now() + 7_200_000).toISOString(),
    });
    const sends = await eventually('all sends are delivered', async () => {
      const page = await product.json<{ sends: { id: string }[] }>('GET', '/v1/sends?status=delivered');
      return page.sends.length === PEOPLE.length ? page.sends : undefined;
    });
    const { conversations } = await product.json<{ conversations: { id: string }[] }>(
      'GET',
      '/v1/conversations',
    );
    const { events } = await product.json<{ events: { id: string; type: string }[] }>('GET', '/v1/events');
    const delivery = await eventually('a delivery has an attempt', async () => {
      const path = '/v1/deliveries?status=pending';
      const page = await product.json<{ deliveries: { id: string; attempts: unknown[] }[] }>('GET', path);
      return page.deliveries.find(({ attempts }) => attempts.length > 0);
    });
    const received = events.find(({ type }) => type === 'message.received');
    pages.push(
      ['overview', ''],
      ['conversations', '/conversations'],
      ['conversation', `/conversations/${encodeURIComponent(conversations[0]?.id ?? '')}`],
      ['sends', '/sends'],
      ['send', `/sends/${sends[0]?.id ?? ''}`],
      ['events', '/events'],
      ['event', `/events/${received?.id ?? ''}`],
      ['webhooks', '/webhooks'],
      ['webhook', `/webhooks/${made.id}`],
      ['delivery', `/deliveries/${delivery.id}`],
      ['accounts', '/accounts'],
      ['api-keys', '/api-keys'],
      ['audit', '/audit'],
      ['queues', '/queues'],
    );
  });

  afterAll(async () => {
    await receiver[Symbol.asyncDispose]();
    await product[Symbol.asyncDispose]();
  });

  it.each(LOOKS)('are made of each page: $name', async ({ name: look, width, scheme }) => {
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
      for (const [name, path] of pages) {
        await goTo(`/console${path}`);
        await settled();
        if (name === 'overview') await page.locator('.plot canvas').last().waitFor();
        if (name === 'queues') await page.frameLocator('iframe').getByText('relay').first().waitFor();
        const picture = await page.screenshot();
        expect(picture.length).toBeGreaterThan(5_000);
        await writeFile(join(folder, `${name}-${look}.png`), picture);
        if (IN_DOCUMENTS.has(`${name}-${look}`))
          await writeFile(join(images, `console-${name}.png`), picture);
      }
    });
  });
});
