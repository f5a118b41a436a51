import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Send } from '#client';
import { findBrowserFor, withBrowser } from '../../support/browser.js';
import { openConsole } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { Product } from '../../support/product.js';

const browser = findBrowserFor('the sends of the console');
const withChromium = browser === undefined ? describe.skip : describe;

const MARKUP = `Table <img src=x onerror="document.title='run'"><script>alert(1)</script> ready`;

withChromium('on the pages of sends in the console,', () => {
  let product: Product;

  beforeAll(async () => {
    product = await Product.start({ SEND_CONFIRM_MS: '1000' });
  });
  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  const post = async (body: object): Promise<string> =>
    (await product.json<{ id: string }>('POST', '/v1/messages/send', body)).id;
  const get = (id: string): Promise<Send> => product.json<Send>('GET', `/v1/sends/${id}`);
  const until = (id: string, status: Send['status']): Promise<Send> =>
    eventually(`${id} is ${status}`, async () => {
      const send = await get(id);
      return send.status === status && send;
    });

  /** Creates a send whose POST ends with an error after which it is unknown whether upstream accepted the send. */
  async function makeUnknown(phoneNumber: string, values: object = {}): Promise<string> {
    await product.simulate('faults', [
      { match: { method: 'POST', phoneNumber }, fault: { kind: 'status', status: 500 } },
    ]);
    const id = await post({ phoneNumber, message: MARKUP, ...values });
    await until(id, 'unknown');
    return id;
  }

  /** Runs the body with the console at a path, and asserts that nothing went wrong on the page. */
  async function withConsole(
    path: string,
    body: (page: Page) => Promise<void>,
    key = product.apiKey,
  ): Promise<void> {
    await withBrowser(browser ?? '', async (context) => {
      const open = await openConsole(context, product, key, path);
      try {
        await body(open.page);
      } catch (error) {
        throw new Error(`the page shows:\n${await open.page.locator('body').innerText()}`, { cause: error });
      }
      open.expectNoTrouble();
    });
  }

  it('an unknown send is shown with its attempts, look-ups and events, and markup in the send is shown as text', async () => {
    const id = await makeUnknown('+15553340001', { metadata: { note: '<b>bold</b>' } });
    await withConsole(`/console/sends/${id}`, async (page) => {
      await page.getByText('Nothing is sent again unless you decide so.').waitFor();
      await page.getByText('Attempt 1: It is not certain').waitFor();
      await page.getByText('HTTP status 500').first().waitFor();
      await page.getByText('No message fits the send.').first().waitFor();
      await page.getByRole('link', { name: 'send.unknown' }).waitFor();
      await page.getByText(MARKUP, { exact: true }).waitFor();
      await page.getByText('"<b>bold</b>"').waitFor();
      expect(await page.locator('main :is(img, script, b, i)').count()).toBe(0);
    });
    await product.call('POST', `/v1/sends/${id}/resolve`, { outcome: 'failed' });
  });

  it('an unknown send is shown with the messages that may belong to it, and with links to their conversations', async () => {
    const phoneNumber = '+15553340009';
    await product.simulate('messages', { direction: 'outbound', phoneNumber, text: 'Hello' });
    await product.simulate('faults', [
      { match: { method: 'POST', phoneNumber }, fault: 'resetAfter' },
      // No message is read until both are shown. Otherwise the first one would be bound.
      {
        match: { method: 'GET', path: '/messages' },
        fault: { kind: 'status', status: 404 },
        times: 'always',
      },
    ]);
    const id = await post({ phoneNumber, message: 'Twice' });
    await eventually('the POST has ended', async () => (await get(id)).attempts.length === 1);
    await product.simulate('messages', { direction: 'outbound', phoneNumber, text: 'Twice' });
    await eventually('upstream shows the message of the send', async () => {
      const accepted = await product.simulate<{ entries: { phoneNumber: string; messageIds: string[] }[] }>(
        'ledger',
        { kind: 'send.accepted' },
      );
      const own = accepted.entries.find((entry) => entry.phoneNumber === phoneNumber)?.messageIds[0];
      const shown = await product.simulate<{ entries: { messageId: string }[] }>('ledger', {
        kind: 'message.created',
      });
      return shown.entries.some(({ messageId }) => messageId === own);
    });
    await product.simulate('faults/clear');
    const { lookups = [] } = await until(id, 'unknown');
    const candidates = lookups.at(-1)?.candidates ?? [];
    expect(candidates.length).toBeGreaterThan(0);
    await withConsole(`/console/sends/${id}`, async (page) => {
      await page.getByText('Several messages fit the send equally well').first().waitFor();
      const [first] = candidates;
      await page.getByText(`Message ${first?.messageId}`).first().waitFor();
      await page.getByRole('button', { name: 'Record as sent' }).click();
      const dialog = page.getByRole('dialog', { name: 'Record as sent?' });
      const links = dialog.getByRole('link', { name: `Conversation of ${first?.contactId}` });
      expect(await links.first().getAttribute('href')).toBe(`/console/conversations/${first?.contactId}`);
      await dialog.getByRole('button', { name: 'Record as sent' }).click();
      await page.getByText('The message was sent.', { exact: false }).first().waitFor();
      expect((await get(id)).status).toBe('sent');
    });
  });

  it('several unknown sends can be resolved at once, and the result of each is shown', async () => {
    const ids = [await makeUnknown('+15553340002'), await makeUnknown('+15553340003')];
    await withConsole('/console/sends?status=unknown', async (page) => {
      await page.getByLabel('Select all that can be resolved (2)').check();
      await page.getByText('2 sends selected').waitFor();
      // One of them is resolved elsewhere meanwhile.
      await page.getByRole('button', { name: 'Record as sent' }).click();
      await product.call('POST', `/v1/sends/${ids[0]}/resolve`, { outcome: 'failed' });
      const dialog = page.getByRole('dialog', { name: 'Record as sent: 2 sends?' });
      await dialog.getByRole('button', { name: 'Record as sent' }).click();
      const results = page.getByRole('dialog', { name: '1 of 2 sends resolved' });
      await results.getByText('The send is failed', { exact: false }).waitFor();
      await results.getByRole('link', { name: '+15553340003' }).waitFor();
      await results.getByRole('button', { name: 'Done' }).click();
      await page.getByText('No send matches the filter.').waitFor();
    });
    expect((await get(ids[1] ?? '')).status).toBe('sent');
  });

  it('a scheduled send can be cancelled', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await post({ phoneNumber: '+15553340004', message: 'Later', sendAt });
    await withConsole('/console/sends?status=scheduled', async (page) => {
      await page.getByRole('link', { name: '+15553340004' }).click();
      await page.getByRole('button', { name: 'Cancel the send' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel the send' }).click();
      await page.getByText('The send was cancelled before').waitFor();
      await eventually('it is not offered again', async () => {
        return (await page.getByRole('button', { name: 'Cancel the send' }).count()) === 0;
      });
    });
    expect((await get(id)).status).toBe('cancelled');
  });

  it('filters are kept in the page address, and new sends that match appear without a reload', async () => {
    await withConsole('/console/sends', async (page) => {
      await page.getByLabel('Phone number').fill('+1 (555) 334-0005');
      await page.getByLabel('Reference').fill('order/5');
      await page.getByLabel('Reference').press('Enter');
      await page.getByText('No send matches the filter.').waitFor();
      const { search } = new URL(page.url());
      expect(Object.fromEntries(new URLSearchParams(search))).toEqual({
        phoneNumber: '+15553340005',
        reference: 'order/5',
      });
      await post({ phoneNumber: '+15553340005', message: 'Other', reference: 'order/6' });
      await post({ phoneNumber: '+15553340005', message: 'Wanted', reference: 'order/5' });
      await page.getByRole('cell', { name: 'delivered' }).waitFor();
      expect(await page.locator('main tbody tr').count()).toBe(1);
      // Over plain HTTP, a reload signs out.
      await page.reload();
      await page.getByLabel('API key').fill(product.apiKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('cell', { name: 'Wanted' }).waitFor();
      expect(await page.locator('main tbody tr').count()).toBe(1);
      expect(await page.getByLabel('Reference').inputValue()).toBe('order/5');
      await page.getByLabel('Phone number').fill('555');
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('Enter + and the country code first').waitFor();
    });
  });

  it('no button to resolve a send is shown if the API key may only read', async () => {
    const id = await makeUnknown('+15553340006');
    const { key } = await product.json<{ key: string }>('POST', '/v1/api-keys', {
      account: 'default',
      name: 'Reader',
      scopes: ['messages:read'],
    });
    await withConsole(
      `/console/sends/${id}`,
      async (page) => {
        await page.getByText('Nothing is sent again unless you decide so.').waitFor();
        await page.getByText('The API key may not read events', { exact: false }).waitFor();
        expect(
          await page
            .locator('main')
            .getByRole('button', { name: /Send again|Record/ })
            .count(),
        ).toBe(0);
      },
      key,
    );
  });
});
