import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext, Locator, Page, Request } from 'playwright-core';
import { findFreePort } from '#embedded-redis';
import { findBrowserFor, withBrowser } from '../support/browser.js';
import { eventually } from '../support/eventually.js';
import { ROOT } from '../support/process.js';
import { Product } from '../support/product.js';

const browser = findBrowserFor('the front end');
const withChromium = browser === undefined ? describe.skip : describe;

/** Time within which both pages must show a message, in milliseconds. */
const PROMPT_MS = 2_000;
const TOKEN_SECONDS = 4;

const measured: string[] = [];

withChromium('on two pages of a real browser,', () => {
  let product: Product;
  /** Two servers of the example. The pages of the second server get tokens that expire soon. */
  const servers: ChildProcess[] = [];
  let [address, shortLived] = ['', ''];

  beforeAll(async () => {
    const [port, shortPort] = [await findFreePort(), await findFreePort()];
    [address, shortLived] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${shortPort}`];
    product = await Product.start({
      CORS_ORIGINS: `${address},${shortLived}`,
      // The default of 2 s is already as long as the delay that is asserted.
      POLL_MIN_INTERVAL_MS: '500',
      // `npm start` uses the default of 10 too.
      UPSTREAM_REQUESTS_PER_SECOND: '10',
    });
    servers.push(await startServer(port, '900'), await startServer(shortPort, String(TOKEN_SECONDS)));
  });

  afterEach(async () => {
    await product.simulate('settings', { sendVisibleDelayMs: 100, deliveredDelayMs: 200 });
  });

  afterAll(async () => {
    for (const server of servers) server.kill('SIGKILL');
    process.stderr.write(`${measured.join('\n')}\n`);
    await product[Symbol.asyncDispose]();
  });

  async function startServer(port: number, tokenSeconds: string): Promise<ChildProcess> {
    const server = spawn(process.execPath, [join(ROOT, 'test/examples/front-end/server.mjs')], {
      env: {
        TIDINGS_URL: `http://127.0.0.1:${product.gateway.port}`,
        TIDINGS_API_KEY: product.apiKey,
        PORT: String(port),
        TOKEN_SECONDS: tokenSeconds,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(server.stdout, 'data');
    return server;
  }

  /** Creates a contact with a message, so that each test has its own contact. Returns the id. */
  async function makeContact(name: string, phoneNumber: string): Promise<string> {
    await product.simulate('contacts', { name, phoneNumber });
    await product.simulate('messages', { phoneNumber, text: `Hello from ${name}` });
    return await eventually('the contact has a conversation', async () => {
      const { conversations } = await product.json<{ conversations: { id: string; preview: string }[] }>(
        'GET',
        `/v1/conversations?q=${encodeURIComponent(name)}`,
      );
      return conversations.find(({ preview }) => preview === `Hello from ${name}`)?.id;
    });
  }

  /** Runs the body with two open pages, and asserts that they were not reloaded and met no error. */
  async function withTwoPages(
    url: string,
    body: (pages: readonly [Page, Page], context: BrowserContext) => Promise<void>,
  ): Promise<void> {
    await withBrowser(browser ?? '', async (context) => {
      // As on pages without HTTPS, unless they come from the same machine.
      await context.addInitScript('delete Crypto.prototype.randomUUID');
      const pages = [await context.newPage(), await context.newPage()] as const;
      const errors: Error[] = [];
      for (const page of pages) {
        page.on('pageerror', (error) => errors.push(error));
        await page.goto(url);
        await page.evaluate('globalThis.isTheFirst = true');
        await eventually(
          'the page is connected',
          async () => (await page.locator('#status').textContent()) === '',
        );
      }
      try {
        await body(pages, context);
      } catch (error) {
        const shown = await Promise.all(pages.map(async (page) => await page.locator('body').innerText()));
        throw new Error(`the pages show:\n${shown.join('\n---\n')}`, { cause: error });
      }
      for (const page of pages) expect(await page.evaluate('globalThis.isTheFirst')).toBe(true);
      expect(errors).toEqual([]);
    });
  }

  const rowOf = (page: Page, text: string): Locator => page.locator('#rows li').filter({ hasText: text });
  const bubble = (page: Page, text: string): Locator =>
    page.locator('#timeline li').filter({ hasText: text });

  /** Opens the phone page of the simulator with a contact, whose name or number it shows. */
  async function openPhone(context: BrowserContext, contact: string): Promise<Page> {
    const phone = await context.newPage();
    await phone.goto(`http://127.0.0.1:${product.simulator.port}/`);
    await phone.getByTestId('contact').filter({ hasText: contact }).click();
    return phone;
  }

  async function typeOnPhone(phone: Page, text: string): Promise<void> {
    await phone.getByTestId('composer').fill(text);
    await phone.getByTestId('composer').press('Enter');
  }

  async function openConversation(page: Page, name: string): Promise<void> {
    await rowOf(page, name).getByRole('button').click();
  }

  async function write(page: Page, text: string): Promise<void> {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.getByRole('textbox', { name: 'Message' }).press('Enter');
  }

  /** Records each new text that an expression has, other than an empty one, whenever the page changes. */
  async function record(page: Page, expression: string): Promise<() => Promise<string[]>> {
    await page.evaluate(`
      const recorded = (globalThis.recorded = []);
      const look = () => {
        const text = ${expression};
        if (text !== '' && text !== recorded.at(-1)) recorded.push(text);
      };
      new MutationObserver(look).observe(document, { subtree: true, childList: true });`);
    return () => page.evaluate<string[]>('recorded');
  }

  /** An expression for the statuses that the page shows of all entries with a text. */
  const statusOf = (text: string): string => `
    [...document.querySelectorAll('#timeline li')].filter((li) => li.textContent.includes('${text}'))
      .map((li) => li.querySelector('small').textContent.split(' · ')[1]).join()`;

  it(`the example front end shows a message at most ${PROMPT_MS} ms after the message was typed on the phone page of the simulator`, async () => {
    await makeContact('Ada', '+15552220001');
    await withTwoPages(address, async (pages, context) => {
      await openConversation(pages[0], 'Ada');
      await bubble(pages[0], 'Hello from Ada').waitFor();
      const phone = await openPhone(context, 'Ada');
      for (const text of ['First typed', 'Second typed']) {
        await typeOnPhone(phone, text);
        const began = performance.now();
        await Promise.all([bubble(pages[0], text).waitFor(), rowOf(pages[1], text).waitFor()]);
        const delay = performance.now() - began;
        measured.push(`a typed message was on both pages after ${Math.round(delay)} ms`);
        expect(delay).toBeLessThan(PROMPT_MS);
      }
      // The first page shows the conversation, so that the messages count as seen on the second page too.
      await eventually('the row has no unread messages', async () => {
        const row = await rowOf(pages[1], 'Ada').textContent();
        return row?.includes('waiting since') === true && !row.includes('unread');
      });
    });
  });

  it('the example front end shows a send in one bubble, first as pending, then as sent, delivered and read', async () => {
    await makeContact('Grace', '+15552220002');
    await product.simulate('settings', { sendVisibleDelayMs: 500, deliveredDelayMs: 1_500 });
    await withTwoPages(address, async (pages, context) => {
      for (const page of pages) await openConversation(page, 'Grace');
      const statuses = await Promise.all(pages.map((page) => record(page, statusOf('Your parcel'))));
      const began = performance.now();
      await write(pages[0], 'Your parcel is here');
      for (const status of ['pending', 'sent', 'delivered']) {
        await bubble(pages[0], 'Your parcel').filter({ hasText: status }).waitFor();
        measured.push(`a send was ${status} after ${Math.round(performance.now() - began)} ms`);
      }
      await (await openPhone(context, 'Grace')).getByTestId('mark-read').click();
      for (const page of pages) await bubble(page, 'Your parcel').filter({ hasText: 'read' }).waitFor();
      expect(await statuses[0]?.()).toEqual(['pending', 'sent', 'delivered', 'read']);
      // The other page knows the text as soon as it read the send or its message.
      expect((await statuses[1]?.())?.slice(-3)).toEqual(['sent', 'delivered', 'read']);
      expect(await rowOf(pages[1], 'Grace').textContent()).toContain('You: Your parcel is here');
    });
  });

  it('the example front end replaces the conversation of a phone number with the conversation of its new contact, and still shows the send once', async () => {
    const number = '+15552220003';
    await withTwoPages(address, async (pages, context) => {
      await pages[0].getByRole('searchbox').fill('+1 555 222 0003');
      await rowOf(pages[0], 'New conversation').getByRole('button').click();
      await write(pages[0], 'Are you there?');
      await rowOf(pages[1], number).getByRole('button').click();
      for (const page of pages)
        await bubble(page, 'Are you there?').filter({ hasText: 'delivered' }).waitFor();
      const phone = await openPhone(context, number);
      await typeOnPhone(phone, 'Yes, I am');
      for (const page of pages) {
        await bubble(page, 'Yes, I am').waitFor();
        expect(await page.locator('#timeline li').count()).toBe(2);
        expect(await rowOf(page, number).count()).toBe(1);
      }
      const { conversations } = await product.json<{ conversations: { replaces: string | null }[] }>(
        'GET',
        `/v1/conversations?q=${encodeURIComponent(number)}`,
      );
      expect(conversations).toMatchObject([{ replaces: number }]);
      await pages[0].getByRole('searchbox').fill('');
      await rowOf(pages[0], 'Yes, I am').waitFor();
    });
  });

  it('the example front end recovers from a killed gateway without a reload, and misses no message', async () => {
    await makeContact('Alan', '+15552220004');
    await withTwoPages(address, async (pages) => {
      await openConversation(pages[0], 'Alan');
      await bubble(pages[0], 'Hello from Alan').waitFor();
      const { port } = product.gateway;
      await product.gateway.stop('SIGKILL');
      await pages[0].getByText('Connecting…').waitFor();
      await write(pages[0], 'Written during the outage');
      await bubble(pages[0], 'Written during the outage').filter({ hasText: 'not sent' }).waitFor();
      await product.simulate('messages', { phoneNumber: '+15552220004', text: 'Received during the outage' });
      const began = performance.now();
      await product.startGateway({ PORT: String(port) });
      const up = performance.now();
      await bubble(pages[0], 'Received during the outage').waitFor();
      await rowOf(pages[1], 'Received during the outage').waitFor();
      measured.push(
        `the pages recovered ${Math.round(performance.now() - up)} ms after the gateway, which started in ${Math.round(up - began)} ms`,
      );
      await write(pages[0], 'Written after the outage');
      await bubble(pages[0], 'Written after the outage').filter({ hasText: 'delivered' }).waitFor();
      expect(await pages[0].locator('#timeline li span').allTextContents()).toEqual([
        'Hello from Alan',
        'Written during the outage',
        'Received during the outage',
        'Written after the outage',
      ]);
      // A text that the page shows as not sent was not sent.
      const sent = (await product.texts()).filter((text) => text.startsWith('Written'));
      expect(sent).toEqual(['Written after the outage']);
    });
  });

  it('the example front end renews its token without interruption: each message that arrives meanwhile is shown once', async () => {
    await makeContact('Edsger', '+15552220005');
    await withTwoPages(shortLived, async (pages) => {
      let renewals = 0;
      const statuses: (() => Promise<string[]>)[] = [];
      for (const page of pages) {
        await openConversation(page, 'Edsger');
        await bubble(page, 'Hello from Edsger').waitFor();
        statuses.push(await record(page, `document.querySelector('#status').textContent`));
        page.on('response', (response) => {
          if (response.url().includes('/v1/events/stream') && response.ok()) renewals += 1;
        });
      }
      let count = 0;
      await eventually('each page renewed its token three times', async () => {
        count += 1;
        await product.simulate('messages', { phoneNumber: '+15552220005', text: `Message ${count}.` });
        await bubble(pages[0], `Message ${count}.`).waitFor();
        return renewals >= 6;
      });
      for (const page of pages) {
        await bubble(page, `Message ${count}.`).waitFor();
        const texts = await page.locator('#timeline li span').allTextContents();
        expect(texts.slice(1)).toEqual(Array.from({ length: count }, (_, i) => `Message ${i + 1}.`));
      }
      // The pages never lost their connection.
      for (const recorded of statuses) expect(await recorded()).toEqual([]);
      measured.push(
        `${count} messages were shown once during ${renewals} renewals of ${TOKEN_SECONDS} s tokens`,
      );
    });
  });

  it('the example front end loads the earlier messages of a conversation, and shows each message once', async () => {
    await makeContact('Donald', '+15552220008');
    const texts = Array.from({ length: 40 }, (_, i) => `Line ${i + 1}.`);
    // The order of the messages must not depend on how fast they are made, nor on the clock of the machine.
    const first = Date.now();
    for (const [n, text] of texts.entries()) {
      const timestamp = new Date(first + n).toISOString();
      await product.simulate('messages', { phoneNumber: '+15552220008', text, timestamp });
    }
    await withTwoPages(address, async ([page]) => {
      await page.getByRole('searchbox').fill('don');
      await rowOf(page, 'Line 40.').getByRole('button').click();
      await bubble(page, 'Line 40.').waitFor();
      expect(await page.locator('#timeline li').count()).toBe(30);
      await page.getByRole('button', { name: 'Load earlier' }).click();
      await bubble(page, 'Hello from Donald').waitFor();
      expect(await page.locator('#timeline li span').allTextContents()).toEqual([
        'Hello from Donald',
        ...texts,
      ]);
      expect(await page.getByRole('button', { name: 'Load earlier' }).isHidden()).toBe(true);
    });
  });

  it('the example front end shows a message with a Unicode line separator, and keeps its stream', async () => {
    await makeContact('Niklaus', '+15552220009');
    await withTwoPages(address, async ([page]) => {
      await openConversation(page, 'Niklaus');
      await bubble(page, 'Hello from Niklaus').waitFor();
      let streams = 0;
      page.on('request', (request) => {
        if (request.url().includes('/v1/events/stream')) streams += 1;
      });
      const text = 'first\u2028second';
      await product.simulate('messages', { phoneNumber: '+15552220009', text });
      await bubble(page, 'second').waitFor();
      expect(await bubble(page, 'second').locator('span').textContent()).toBe(text);
      await product.simulate('messages', { phoneNumber: '+15552220009', text: 'third' });
      await bubble(page, 'third').waitFor();
      expect(streams).toBe(0);
    });
  });

  it('the example front end closes its stream and opens another one after an event that it cannot handle', async () => {
    await makeContact('Tony', '+15552220010');
    await withTwoPages(address, async ([page]) => {
      await openConversation(page, 'Tony');
      await bubble(page, 'Hello from Tony').waitFor();
      const isStream = (request: Request): boolean => request.url().includes('/v1/events/stream');
      const closed = page.waitForEvent('requestfailed', isStream);
      await page.evaluate(`
        const { parse } = JSON;
        JSON.parse = () => {
          JSON.parse = parse;
          throw new Error('a defect of the page');
        };
        true;`);
      await product.simulate('messages', { phoneNumber: '+15552220010', text: 'Cannot be handled' });
      await closed;
      await product.simulate('messages', { phoneNumber: '+15552220010', text: 'Can be handled' });
      await bubble(page, 'Can be handled').waitFor();
    });
  });

  it('the example front end shows why a send failed', async () => {
    await makeContact('Frances', '+15552220011');
    await product.simulate('faults', [
      { match: { method: 'POST', phoneNumber: '+15552220011' }, fault: { kind: 'status', status: 400 } },
    ]);
    await withTwoPages(address, async (pages) => {
      await openConversation(pages[0], 'Frances');
      await bubble(pages[0], 'Hello from Frances').waitFor();
      await write(pages[0], 'Is refused');
      const { sends } = await eventually('the send has failed', async () => {
        const list = await product.json<{ sends: { reason: string }[] }>('GET', '/v1/sends?status=failed');
        return list.sends.length > 0 && list;
      });
      const reason = sends[0]?.reason ?? '';
      expect(reason).not.toBe('');
      // The first page learns the reason from the stream, the second one from the timeline.
      await openConversation(pages[1], 'Frances');
      for (const page of pages)
        await bubble(page, 'Is refused')
          .filter({ hasText: `failed · ${reason}` })
          .waitFor();
    });
  });

  it('the example front end shows the new name of a renamed contact', async () => {
    const id = await makeContact('Barbara', '+15552220007');
    await withTwoPages(address, async (pages) => {
      await product.simulate('contacts/edit', { contactId: id, name: 'Barbara Liskov' });
      for (const page of pages) await rowOf(page, 'Barbara Liskov').waitFor();
    });
  });

  it('the example front end shows markup as text, and links to attachments without loading them', async () => {
    const markup = '<img src=x onerror="document.title=1"><script>document.title=2</script> & <b>bold</b>';
    await makeContact('<i>Mallory</i>', '+15552220006');
    await product.simulate('messages', {
      phoneNumber: '+15552220006',
      text: markup,
      attachments: [
        { id: 'a', url: 'https://files.example/photo.jpg' },
        { id: 'b', url: 'javascript:alert(1)' },
      ],
    });
    await withTwoPages(address, async (pages) => {
      const requests: string[] = [];
      pages[0].on('request', (request) => requests.push(request.url()));
      await openConversation(pages[0], '<i>Mallory</i>');
      expect(await bubble(pages[0], 'bold').locator('span').textContent()).toBe(markup);
      expect(await rowOf(pages[0], 'Mallory').locator('span').textContent()).toBe(markup);
      expect(
        await pages[0].locator('#timeline :is(img, script, b, iframe), #rows :is(img, script, i)').count(),
      ).toBe(0);
      expect(await pages[0].title()).toBe('Conversations');
      const links = pages[0].locator('#timeline a');
      expect(await links.count()).toBe(1);
      expect(await links.getAttribute('href')).toBe('https://files.example/photo.jpg');
      expect(await links.getAttribute('rel')).toBe('noreferrer noopener');
      expect(await links.getAttribute('target')).toBe('_blank');
      expect(requests.filter((url) => !url.startsWith('http://127.0.0.1:'))).toEqual([]);
    });
  });
});
