import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import type { Conversation, ConversationList, CreatedApiKey, SendList } from '#client';
import { findBrowserFor, withBrowser } from '../../support/browser.js';
import { type OpenConsole, openConsole } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { Product } from '../../support/product.js';

const browser = findBrowserFor('the conversations of the console');
const withChromium = browser === undefined ? describe.skip : describe;

const MARKUP = `<img src=x onerror="document.title='run'"><script>alert(1)</script>`;

withChromium('on the page of conversations in the console,', () => {
  let product: Product;

  beforeAll(async () => {
    product = await Product.start();
  });

  afterEach(async () => {
    await product.simulate('settings', { sendVisibleDelayMs: 100, deliveredDelayMs: 200 });
    await product.simulate('faults/clear');
  });

  afterAll(async () => {
    await product[Symbol.asyncDispose]();
  });

  const rowOf = async (phoneNumber: string): Promise<Conversation | undefined> => {
    const { conversations } = await product.json<ConversationList>(
      'GET',
      `/v1/conversations?q=${encodeURIComponent(phoneNumber)}`,
    );
    return conversations.find(({ phoneNumbers }) => phoneNumbers.includes(phoneNumber));
  };
  const receive = (phoneNumber: string, text: string, more: object = {}): Promise<unknown> =>
    product.simulate('messages', { phoneNumber, text, ...more });

  /** Creates a contact with one inbound message, and returns its conversation. */
  async function makeContact(name: string, phoneNumber: string): Promise<Conversation> {
    await product.simulate('contacts', { name, phoneNumber });
    await receive(phoneNumber, 'Hello');
    return await eventually('the contact has a conversation', async () => {
      const row = await rowOf(phoneNumber);
      return row?.contactId != null && row.preview === 'Hello' ? row : undefined;
    });
  }

  /** Runs the body with the console at a path, and asserts that nothing went wrong on the page. */
  async function withConsole(
    path: string,
    body: (page: Page, open: OpenConsole) => Promise<void>,
    key = product.apiKey,
  ): Promise<void> {
    await withBrowser(browser ?? '', async (context) => {
      const open = await openConsole(context, product, key, `/console/conversations${path}`);
      try {
        await body(open.page, open);
      } catch (error) {
        throw new Error(`the page shows:\n${await open.page.locator('body').innerText()}`, { cause: error });
      }
      open.expectNoTrouble();
    });
  }

  const list = (page: Page): Locator => page.getByRole('list', { name: 'Conversations' });
  const timeline = (page: Page): Locator => page.getByRole('log', { name: 'Messages' });
  const box = (page: Page): Locator => page.getByRole('textbox', { name: 'Message' });

  it('a new message appears without a reload; its conversation moves to the top and is marked as unread until it is opened', async () => {
    const grace = await makeContact('Grace', '+15554440001');
    const ada = await makeContact('Ada', '+15554440002');
    await withConsole(`/${ada.id}`, async (page, { requests, settled }) => {
      await timeline(page).getByText('Hello').waitFor();
      const listReadsAfter = (first: number): number =>
        requests.slice(first).filter((url) => url.includes('/v1/conversations?')).length;
      // When the stream opens, the page reads the list once more. Later changes come by the stream alone.
      await eventually('the list is read after the stream was opened', () => {
        const opened = requests.findLastIndex((url) => url.includes('/stream') && url.includes('message.'));
        return opened >= 0 && listReadsAfter(opened) > 0;
      });
      await settled();
      const before = requests.length;
      await receive('+15554440001', 'Are you there?');
      const first = list(page).getByRole('listitem').first();
      await first.getByText('Are you there?').waitFor();
      await first.getByText('unread').waitFor();
      expect(listReadsAfter(before)).toBe(0);
      await first.getByRole('link').click();
      await timeline(page).getByText('Are you there?').waitFor();
      await first.getByText('unread').waitFor({ state: 'detached' });
      expect((await rowOf('+15554440001'))?.unreadCount).toBe(0);
      await receive('+15554440001', 'Good.');
      await timeline(page).getByText('Good.').waitFor();
      expect(page.url()).toContain(grace.id);
    });
  });

  it('a send is shown with its status from queued to delivered, and with a link to its own page', async () => {
    const { id } = await makeContact('Alan', '+15554440003');
    await product.simulate('settings', { sendVisibleDelayMs: 1_500, deliveredDelayMs: 3_000 });
    await withConsole(`/${id}`, async (page) => {
      await box(page).fill('First line');
      await box(page).press('Enter');
      await box(page).pressSequentially('Second line');
      await box(page).press('Control+Enter');
      const bubble = timeline(page).getByRole('listitem').filter({ hasText: 'First line' });
      await bubble.getByText(/(queued|relaying|accepted)$/).waitFor();
      await bubble.getByText('Sent', { exact: true }).waitFor();
      await bubble.getByText('Delivered', { exact: true }).waitFor();
      expect(await bubble.count()).toBe(1);
      expect(await box(page).inputValue()).toBe('');
      expect(await bubble.locator('.text').innerText()).toBe('First line\nSecond line');
      await bubble.getByRole('link', { name: 'Send' }).click();
      await page.waitForURL(/\/console\/sends\/snd_/);
    });
  });

  it('if the reply to a send request is lost, the draft is kept, and a second try creates no second send', async () => {
    const { id } = await makeContact('Barbara', '+15554440004');
    await withConsole(`/${id}`, async (page) => {
      const keys: (string | undefined)[] = [];
      await page.route('**/v1/messages/send', async (route) => {
        keys.push(route.request().headers()['idempotency-key']);
        // The gateway stores the send, and its reply is lost.
        await route.fetch();
        await route.abort('connectionreset');
      });
      await box(page).fill('Only once');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText('Your draft is kept.').waitFor();
      expect(await box(page).inputValue()).toBe('Only once');
      await page.unroute('**/v1/messages/send');
      page.on('request', (request) => {
        if (request.url().endsWith('/v1/messages/send')) keys.push(request.headers()['idempotency-key']);
      });
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await timeline(page).getByText('Delivered', { exact: true }).waitFor();
      expect(new Set(keys).size).toBe(1);
      const { sends } = await product.json<SendList>(
        'GET',
        `/v1/sends?phoneNumber=${encodeURIComponent('+15554440004')}`,
      );
      expect(sends).toHaveLength(1);
      expect(await timeline(page).getByText('Only once').count()).toBe(1);
    });
  });

  it('if the session ends during a send, the draft is kept, and after a new sign-in with the same API key a second try creates no second send', async () => {
    const { id } = await makeContact('Frances', '+15554440014');
    await withConsole(`/${id}`, async (page) => {
      await page.route('**/v1/messages/send', async (route) => {
        // The gateway stores the send, and its reply is lost.
        await route.fetch();
        await route.fulfill({ status: 401 });
      });
      await box(page).fill('Once');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByLabel('API key').fill(product.apiKey);
      await page.unroute('**/v1/messages/send');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await eventually('the draft is shown', async () => (await box(page).inputValue()) === 'Once');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await timeline(page).getByText('Delivered', { exact: true }).waitFor();
      expect(await box(page).inputValue()).toBe('');
      const { sends } = await product.json<SendList>(
        'GET',
        `/v1/sends?phoneNumber=${encodeURIComponent('+15554440014')}`,
      );
      expect(sends).toHaveLength(1);
    });
  });

  it('if a send fails after its conversation was left, the console says so, and the conversation shows the draft with the error', async () => {
    const { id } = await makeContact('Joan', '+15554440016');
    await withConsole(`/${id}`, async (page, { goTo }) => {
      let reject: (() => void) | undefined;
      await page.route('**/v1/messages/send', async (route) => {
        await new Promise<void>((resolve) => (reject = resolve));
        await route.fulfill({ status: 403, json: { code: 'forbidden', detail: 'Not now.' } });
      });
      await box(page).fill('Left alone');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await eventually('the send is requested', () => reject);
      await goTo('/console/sends');
      await goTo(`/console/conversations/${id}`);
      await page.getByRole('button', { name: 'Sending …' }).waitFor();
      expect(await box(page).getAttribute('readonly')).not.toBeNull();
      await goTo('/console/sends');
      reject?.();
      await page.getByText('Message to Joan: Your API key does not permit this').waitFor();
      await goTo(`/console/conversations/${id}`);
      await page.getByText('Your draft is kept.').waitFor();
      expect(await box(page).inputValue()).toBe('Left alone');
    });
  });

  it('when a send ends, the focus stays in the field that the user has chosen meanwhile; otherwise the focus returns to the message field', async () => {
    const { id } = await makeContact('Adele', '+15554440018');
    await withConsole(`/${id}`, async (page) => {
      const held: (() => void)[] = [];
      await page.route('**/v1/messages/send', async (route) => {
        await new Promise<void>((resolve) => held.push(resolve));
        await route.continue();
      });
      const sendWhile = async (meanwhile: () => Promise<void>): Promise<unknown> => {
        await box(page).fill('Takes long');
        await page.getByRole('button', { name: 'Send', exact: true }).click();
        await eventually('the send is requested', () => held.length > 0);
        await meanwhile();
        held.pop()?.();
        await eventually('the message is empty', async () => (await box(page).inputValue()) === '');
        return await page.evaluate('document.activeElement.localName');
      };
      expect(await sendWhile(() => Promise.resolve())).toBe('textarea');
      const search = page.getByRole('searchbox', { name: 'Search conversations' });
      expect(await sendWhile(() => search.focus())).toBe('input');
    });
  });

  it('a scheduled send is shown, and can be cancelled', async () => {
    const { id } = await makeContact('Edsger', '+15554440005');
    await withConsole(`/${id}`, async (page) => {
      await box(page).fill('Tomorrow');
      await page.getByRole('button', { name: 'Schedule', exact: true }).click();
      await page.getByLabel('Send at').fill('2001-01-01T10:00');
      await page.getByRole('button', { name: 'Schedule the send' }).click();
      await page.getByText('Choose a time in the future.').waitFor();
      await page.getByLabel('Send at').fill('2099-01-01T10:00');
      await page.getByRole('button', { name: 'Schedule the send' }).click();
      const bubble = timeline(page).getByRole('listitem').filter({ hasText: 'Tomorrow' });
      await bubble.getByText('scheduled', { exact: true }).waitFor();
      await bubble.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Cancel the send' }).click();
      await bubble.waitFor({ state: 'detached' });
      const { sends } = await product.json<SendList>('GET', '/v1/sends?status=cancelled');
      expect(sends.map(({ message }) => message)).toEqual(['Tomorrow']);
    });
  });

  it('a failed send is shown with the reason', async () => {
    const { id } = await makeContact('Margaret', '+15554440013');
    await product.simulate('faults', {
      match: { method: 'POST', path: '/messages/send' },
      fault: { kind: 'status', status: 400 },
      times: 'always',
    });
    await withConsole(`/${id}`, async (page) => {
      await box(page).fill('Refused');
      await box(page).press('Control+Enter');
      const bubble = timeline(page).getByRole('listitem').filter({ hasText: 'Refused' });
      await bubble.getByText(/failed$/).waitFor();
      await bubble.getByText('400').waitFor();
      await list(page).getByText('1 failed send').waitFor();
      await bubble.getByRole('link', { name: 'See what happened' }).click();
      await page.waitForURL(/\/console\/sends\/snd_/);
    });
  });

  it('markup in messages and names is shown as text, and no attachment is loaded', async () => {
    const { id } = await makeContact(MARKUP, '+15554440006');
    await receive('+15554440006', MARKUP, {
      attachments: [{ name: MARKUP, url: 'https://files.example/a.png' }],
    });
    await receive('+15554440006', 'click', { attachments: [{ name: 'bad', url: 'javascript:alert(1)' }] });
    await withConsole(`/${id}`, async (page) => {
      await timeline(page).getByText('click').waitFor();
      // The text of the message, and the name of its attachment.
      const shown = timeline(page).getByText(MARKUP, { exact: true });
      await eventually('the markup is shown', async () => (await shown.count()) === 2);
      const link = timeline(page).getByRole('link', { name: 'files.example' });
      expect(await link.getAttribute('rel')).toBe('noreferrer noopener');
      expect(await timeline(page).getByRole('link', { name: 'bad' }).count()).toBe(0);
      await page.getByRole('heading', { name: MARKUP }).waitFor();
      await page.getByRole('button', { name: 'Details' }).click();
      await page
        .getByRole('complementary', { name: 'Details of the contact' })
        .getByText(id)
        .first()
        .waitFor();
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(await page.title()).not.toBe('run');
    });
  });

  it('a control character for right-to-left text in the name of an attachment does not reverse the host name beside it', async () => {
    const { id } = await makeContact('Hedy', '+15554440017');
    await receive('+15554440017', 'A file', {
      attachments: [{ name: 'invoice \u202e', url: 'https://files.example/a.png' }],
    });
    await withConsole(`/${id}`, async (page) => {
      await timeline(page).getByRole('link', { name: 'files.example' }).waitFor();
      const isReversed = await page.evaluate(`(() => {
        const texts = document.createTreeWalker(document.querySelector('.attachments'), NodeFilter.SHOW_TEXT);
        while (!texts.nextNode().data.includes('files.example'));
        const { currentNode: text } = texts;
        const leftOf = (part) => {
          const range = document.createRange();
          range.setStart(text, text.data.indexOf(part));
          range.setEnd(text, text.data.indexOf(part) + 1);
          return range.getBoundingClientRect().left;
        };
        return leftOf('files') > leftOf('example');
      })()`);
      expect(isReversed).toBe(false);
    });
  });

  it('a search finds conversations by name, and offers a new conversation for an unknown phone number', async () => {
    await makeContact('Katherine', '+15554440007');
    await makeContact('Radia', '+15554440008');
    await withConsole('', async (page) => {
      const search = page.getByRole('searchbox', { name: 'Search conversations' });
      await search.fill('kath');
      await list(page).getByText('Katherine').waitFor();
      await list(page).getByText('Radia').waitFor({ state: 'detached' });
      expect(new URL(page.url()).searchParams.get('q')).toBe('kath');
      // A conversation that the search does not find does not appear when the conversation changes.
      await receive('+15554440008', 'Not now');
      await receive('+15554440007', 'Now');
      await list(page).getByText('Now', { exact: true }).waitFor();
      expect(await list(page).getByRole('listitem').count()).toBe(1);
      await search.fill('+1 (555) 444-0009');
      await page.getByRole('link', { name: 'New conversation with +15554440009' }).click();
      await box(page).fill('Welcome');
      await box(page).press('Control+Enter');
      await box(page).fill('A second one');
      await timeline(page).getByText('Delivered', { exact: true }).waitFor();
      // The conversation of the contact replaced that of the number, and nothing was lost.
      await page.waitForURL(/\/conversations\/con_/);
      expect(await box(page).inputValue()).toBe('A second one');
      expect(await timeline(page).getByText('Welcome').count()).toBe(1);
    });
  });

  it('a draft to a phone number is later shown in the conversation of the new contact with this number', async () => {
    const number = '+15554440015';
    await withConsole(`/${encodeURIComponent(number)}`, async (page, { goTo }) => {
      await box(page).fill('Written to the number');
      await goTo('/console/conversations');
      const { id } = await makeContact('Ida', number);
      await goTo(`/console/conversations/${id}`);
      await timeline(page).getByText('Hello').waitFor();
      expect(await box(page).inputValue()).toBe('Written to the number');
    });
  });

  it('no text field for a new message is shown if the API key may not send', async () => {
    const { id } = await makeContact('Tim', '+15554440010');
    const reader = await product.json<CreatedApiKey>('POST', '/v1/api-keys', {
      account: 'default',
      name: 'Reader',
      scopes: ['messages:read'],
    });
    await withConsole(
      `/${id}`,
      async (page) => {
        await timeline(page).getByText('Hello').waitFor();
        expect(await box(page).count()).toBe(0);
        // Without a stream of events, the page reads the conversation again at intervals.
        await receive('+15554440010', 'Still here');
        await timeline(page).getByText('Still here').waitFor();
      },
      reader.key,
    );
  });

  it('an error says that messages cannot be read while the messaging service is unavailable', async () => {
    const { id } = await makeContact('Donald', '+15554440011');
    await product.simulate('faults', {
      match: { method: 'GET', path: '/messages' },
      fault: { kind: 'status', status: 503 },
      times: 'always',
    });
    await withConsole(`/${id}`, async (page) => {
      await page.getByText('The messages cannot be read at the moment.').waitFor();
      await product.simulate('faults/clear');
      await page.getByText('The messages cannot be read at the moment.').waitFor({ state: 'detached' });
    });
  });

  it('a narrow screen shows either the list or one conversation with a link back to the list', async () => {
    const { id } = await makeContact('Linus', '+15554440012');
    await withConsole('', async (page) => {
      await page.setViewportSize({ width: 375, height: 700 });
      const isTooWide = (): Promise<boolean> =>
        page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
      await list(page).getByText('Linus').click();
      await page.waitForURL(`**/conversations/${id}`);
      await timeline(page).getByText('Hello').waitFor();
      expect(await list(page).isVisible()).toBe(false);
      expect(await isTooWide()).toBe(false);
      await page.getByRole('link', { name: 'All conversations' }).click();
      await list(page).getByText('Linus').waitFor();
      expect(await timeline(page).isVisible()).toBe(false);
      expect(await isTooWide()).toBe(false);
    });
  });
});
