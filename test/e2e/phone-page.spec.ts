import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { findBrowserFor, withBrowser } from '../support/browser.js';
import { Product } from '../support/product.js';

const browser = findBrowserFor('the phone page');
const withChromium = browser === undefined ? describe.skip : describe;

withChromium('in a real browser,', () => {
  let product: Product;

  beforeAll(async () => {
    product = await Product.start();
  });

  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  it('the phone page of the simulator shows the state "Live" again after one failed request for its data, even if its event stream stayed open', async () => {
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${product.simulator.port}/`);
      const live = page.locator('#live[data-state="live"]');
      await live.waitFor();
      await page.route('**/phone/contacts', (route) => route.abort(), { times: 1 });
      await product.simulate('contacts', { phoneNumber: '+14155550199' });
      await page.locator('#live[data-state="lost"]').waitFor();
      await live.waitFor({ timeout: 10_000 });
      await page.getByTestId('contact').filter({ hasText: '+14155550199' }).waitFor();
    });
  });

  it('the phone page of the simulator shows a send as delivered and then read, and a reply typed there causes message.received', async () => {
    const markup = '<b onclick="alert(1)">Hello</b> & welcome';
    await product.json('POST', '/v1/messages/send', { phoneNumber: '+14155550123', message: markup });
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${product.simulator.port}/`);
      await page.getByTestId('contact').filter({ hasText: '+14155550123' }).click();

      const sent = page.locator('[data-testid="message"][data-direction="outbound"]');
      await sent.first().waitFor();
      // The page must show a message as text, not as markup.
      expect(await sent.first().textContent()).toContain(markup);
      const status = sent.first().getByTestId('message-status');
      await eventually('the page shows the status delivered', async () =>
        /delivered/i.test((await status.textContent()) ?? ''),
      );

      await page.getByTestId('composer').fill('Typed on the phone 😀');
      await page.getByTestId('composer').press('Enter');
      await page
        .locator('[data-testid="message"][data-direction="inbound"]')
        .filter({ hasText: 'Typed on the phone' })
        .waitFor();

      await page.getByTestId('mark-read').click();
      await eventually('the page shows the status read', async () =>
        /read/i.test((await status.textContent()) ?? ''),
      );
    });
    const types = await eventually('all events are recorded', async () => {
      const { events } = await product.json<{
        events: { type: string; data: { message?: { message?: string } } }[];
      }>('GET', '/v1/events?types=message.*');
      const types = events.map(({ type }) => type);
      return types.includes('message.read') && types.includes('message.received') && events;
    });
    expect(types.map(({ type }) => type).sort()).toEqual([
      'message.delivered',
      'message.read',
      'message.received',
      'message.sent',
    ]);
    expect(types.find(({ type }) => type === 'message.received')?.data.message?.message).toBe(
      'Typed on the phone 😀',
    );
  });

  it('the phone page of the simulator keeps a half-written or failed message with its contact', async () => {
    for (const phoneNumber of ['+14155550188', '+14155550189'])
      await product.simulate('contacts', { phoneNumber });
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${product.simulator.port}/`);
      const composer = page.getByTestId('composer');
      const open = (number: string): Promise<void> =>
        page.getByTestId('contact').filter({ hasText: number }).click();
      await open('+14155550188');
      await composer.fill('Half a mess');
      await open('+14155550189');
      expect(await composer.inputValue()).toBe('');

      const failures: (() => void)[] = [];
      await page.route('**/typing', async (route) => {
        await new Promise<void>((resolve) => failures.push(resolve));
        await route.abort();
      });
      await composer.fill('Fails');
      await composer.press('Enter');
      await eventually('the message is sent', () => failures.length > 0);
      await open('+14155550188');
      expect(await composer.inputValue()).toBe('Half a mess');
      await page.locator('#phone-name').filter({ hasText: '+14155550188' }).waitFor();
      failures.pop()?.();
      await page.getByText('Message of +14155550189:', { exact: false }).waitFor();
      expect(await composer.inputValue()).toBe('Half a mess');
      await open('+14155550189');
      expect(await composer.inputValue()).toBe('Fails');
    });
  });

  it('the phone page of the simulator shows the newest 200 messages, and the number of earlier ones', async () => {
    const phoneNumber = '+14155550168';
    await product.simulate('messages', { phoneNumber, count: 201 });
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${product.simulator.port}/`);
      await page.getByTestId('contact').filter({ hasText: phoneNumber }).click();
      await page.getByText('1 earlier message', { exact: true }).waitFor();
      expect(await page.getByTestId('message').count()).toBe(200);
      await product.simulate('messages', { phoneNumber });
      await page.getByText('2 earlier messages', { exact: true }).waitFor();
    });
  });

  it('the row of a contact on the phone page of the simulator stays the same element when contacts change, so that no click is lost', async () => {
    const [idle, busy] = ['+14155550178', '+14155550179'];
    for (const phoneNumber of [busy, idle]) {
      await product.simulate('contacts', { phoneNumber });
      await product.simulate('messages', { phoneNumber, text: 'Hello' });
    }
    await withBrowser(browser ?? '', async (context) => {
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${product.simulator.port}/`);
      const rows = page.getByTestId('contact');
      await rows.filter({ hasText: busy }).waitFor();
      const before = await Promise.all(
        [idle, busy].map((number) => rows.filter({ hasText: number }).elementHandle()),
      );
      await product.simulate('messages', { phoneNumber: busy, text: 'Again' });
      await rows.first().filter({ hasText: busy }).getByText('Again').waitFor();
      await rows.first().getByRole('img', { name: 'New message' }).waitFor();
      for (const row of before) expect(await row.isVisible()).toBe(true);
      const contactId = await rows.filter({ hasText: idle }).getAttribute('data-contact-id');
      await product.simulate('contacts/delete', { contactId });
      await rows.filter({ hasText: idle }).waitFor({ state: 'detached' });
    });
  });
});
