import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import type { BrowserContext, Page } from 'playwright-core';
import { type CreatedWebhook, type Delivery, signWebhook, verifyWebhook, type Webhook } from '#client';
import { findFreePort } from '#embedded-redis';
import { findBrowserFor, withBrowser } from '../../support/browser.js';
import { type OpenConsole, openConsole, tryToCloseDialog } from '../../support/console.js';
import { eventually } from '../../support/eventually.js';
import { findProgram } from '../../support/find-program.js';
import { ROOT } from '../../support/process.js';
import { Product } from '../../support/product.js';
import { Receiver } from '../../support/receiver.js';

const browser = findBrowserFor('the webhooks of the console');
const withChromium = browser === undefined ? describe.skip : describe;

const MARKUP = `<h1>Out of order</h1><img src=x onerror="document.title='run'"><script>alert(1)</script>`;
const HEADER_MARKUP = `<i onmouseover="document.title='run'">team</i><script>alert(2)</script>`;
const PHONE = '+15553330001';

withChromium('on the pages of webhooks in the console,', () => {
  let product: Product;
  let receiver: Receiver;

  beforeAll(async () => {
    // A delivery fails after two attempts.
    product = await Product.start({ WEBHOOK_RETRY_SCHEDULE_SECONDS: '1' });
    await product.simulate('contacts', { name: 'Ada', phoneNumber: PHONE });
    receiver = await Receiver.start();
  });

  afterEach(async () => {
    const { webhooks } = await product.json<{ webhooks: Webhook[] }>('GET', '/v1/webhooks');
    for (const { id } of webhooks) await product.call('DELETE', `/v1/webhooks/${id}`);
    receiver.reset();
  });

  afterAll(async () => {
    await receiver[Symbol.asyncDispose]();
    await product[Symbol.asyncDispose]();
  });

  const add = (values: object = {}): Promise<CreatedWebhook> =>
    product.json<CreatedWebhook>('POST', '/v1/webhooks', { url: receiver.url, ...values });
  const get = (id: string): Promise<Webhook> => product.json<Webhook>('GET', `/v1/webhooks/${id}`);
  const deliveriesOf = async (id: string, status: string): Promise<Delivery[]> =>
    (
      await product.json<{ deliveries: Delivery[] }>(
        'GET',
        `/v1/webhooks/${id}/deliveries?limit=100&status=${status}`,
      )
    ).deliveries;

  /** Runs the body with the console at a path, and asserts that nothing went wrong on the page. */
  async function withConsole(
    path: string,
    body: (page: Page, open: OpenConsole, context: BrowserContext) => Promise<void>,
  ): Promise<void> {
    await withBrowser(browser ?? '', async (context) => {
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      const open = await openConsole(context, product, product.apiKey, path);
      try {
        await body(open.page, open, context);
      } catch (error) {
        throw new Error(`the page shows:\n${await open.page.locator('body').innerText()}`, { cause: error });
      }
      open.expectNoTrouble();
    });
  }

  const clipboardOf = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()');

  it('markup in the reply of a failing receiver and in header values is shown as text', async () => {
    Object.assign(receiver, { status: 500, reply: MARKUP });
    const { id } = await add({
      description: 'Billing <b>bold</b>',
      eventTypes: ['message.received'],
      headers: { 'X-Markup': HEADER_MARKUP },
    });
    await product.simulate('messages', { phoneNumber: PHONE, text: 'Fails' });
    await eventually('the delivery has failed', async () => (await deliveriesOf(id, 'failed')).length === 1);

    await withConsole('/console/webhooks', async (page) => {
      const row = page.getByRole('row').filter({ hasText: 'Billing <b>bold</b>' });
      await row.getByText('failing').waitFor();
      await row.getByRole('link', { name: '0 %' }).waitFor();
      await row.getByRole('link', { name: 'Billing <b>bold</b>' }).click();
      await page.getByRole('button', { name: 'Show the values' }).click();
      await page.getByText(`X-Markup: ${HEADER_MARKUP}`).waitFor();
      await page.getByRole('cell').getByRole('link', { name: 'message.received' }).click();
      await page.getByRole('heading', { name: 'Delivery of', exact: false }).waitFor();
      const reply = page.getByRole('region', { name: 'First kilobyte of the reply' }).first();
      expect(await reply.textContent()).toBe(MARKUP);
      expect(await page.locator('main :is(img, script, b, i)').count()).toBe(0);
      expect(await page.title()).toMatch(/^Delivery of .* · Tidings$/);
    });
  });

  it('the page of a webhook has no notice about pauses or waiting events if a gateway of an earlier build omits these fields', async () => {
    const { id } = await add({ description: 'Older' });
    await withConsole('/console/webhooks', async (page) => {
      await page.route(`**/v1/webhooks/${id}`, async (route) => {
        const response = await route.fetch();
        const json: object = { ...((await response.json()) as Webhook), pending: 3 };
        for (const field of ['pausedUntil', 'waitingSince']) Reflect.deleteProperty(json, field);
        await route.fulfill({ response, json });
      });
      await page.getByRole('link', { name: 'Older' }).click();
      const notice = page.getByRole('region', { name: 'State' });
      await notice.getByText('3 deliveries are pending.').waitFor();
      expect(await notice.innerText()).not.toMatch(/paused|Further events/);
    });
  });

  it('pending deliveries can be retried early, one by one or all together', async () => {
    await product.worker.stop();
    await product.startWorker({ WEBHOOK_RETRY_SCHEDULE_SECONDS: '600,600' });
    Object.assign(receiver, { status: 503 });
    const { id } = await add({ eventTypes: ['message.received'] });
    for (let n = 0; n < 3; n += 1)
      await product.simulate('messages', { phoneNumber: PHONE, text: `Waits ${n}` });
    await eventually('three deliveries wait', async () => {
      const pending = await deliveriesOf(id, 'pending');
      return pending.length === 3 && pending.every(({ attempts }) => attempts.length > 0);
    });
    await withConsole(`/console/webhooks/${id}?status=pending`, async (page) => {
      const rows = page.getByRole('region', { name: 'Deliveries', exact: true }).locator('tbody tr');
      await eventually('three rows are shown', async () => (await rows.count()) === 3);
      await rows.first().getByRole('button', { name: 'Retry now' }).click();
      await eventually('the first was attempted again', async () =>
        (await deliveriesOf(id, 'pending')).some(({ attempts }) => attempts.length === 2),
      );
      receiver.status = 200;
      await page.getByRole('button', { name: 'Retry all pending now' }).click();
      await page.getByText('Replay finished').waitFor();
      await page.getByText('No delivery is pending.').waitFor();
    });
    expect(await get(id)).toMatchObject({ pending: 0 });
    await product.worker.stop();
    await product.startWorker();
  });

  it('a webhook can be added, edited, disabled, enabled and deleted, and each error of the API is shown at its form field', async () => {
    await withConsole('/console/webhooks', async (page) => {
      await page.getByText('No webhooks yet').waitFor();
      await page.getByRole('button', { name: 'Add a webhook' }).first().click();
      const form = page.getByRole('dialog', { name: 'Add a webhook' });
      await form.getByLabel('URL').fill('ftp://example.com');
      await form.getByLabel('All events', { exact: false }).uncheck();
      await form.getByText('Contacts, headers, limits and order').click();
      await form.getByLabel('Headers of each request').fill('Content-Type: text/plain');
      await form.getByRole('button', { name: 'Add the webhook' }).click();
      await form.getByText('Choose at least one event type').waitFor();
      await form.getByLabel('send.*').check();
      await form.getByLabel('message.received').check();
      await form.getByLabel('Other event types').fill('message.unheard');
      await form.getByRole('button', { name: 'Add the webhook' }).click();
      await form.getByText('Must be an http:// or https:// URL', { exact: false }).waitFor();
      await form.getByText('Must not set Content-Type', { exact: false }).waitFor();
      await form.getByText('Must be a list of 1 to 50 event types', { exact: false }).waitFor();
      expect(await form.getByLabel('URL').getAttribute('aria-invalid')).toBe('true');
      await form.getByLabel('URL').fill(receiver.url);
      await form.getByLabel('Headers of each request').fill('X-Team: orders');
      await form.getByLabel('Other event types').fill('contact.*');
      await form.getByLabel('Simultaneous requests').fill('3');
      await form.getByLabel('Requests per second').fill('50');
      await form.getByLabel('Ordered', { exact: false }).check();
      await form.getByRole('button', { name: 'Add the webhook' }).click();

      const added = page.getByRole('dialog', { name: 'Webhook added' });
      const secret = (await added.getByRole('region', { name: 'Signing secret' }).textContent()) ?? '';
      expect(secret).toMatch(/^whsec_/);
      await added.getByRole('link', { name: 'Open the webhook' }).click();
      await page.getByRole('heading', { name: receiver.url }).waitFor();
      const { webhooks } = await product.json<{ webhooks: Webhook[] }>('GET', '/v1/webhooks');
      const id = webhooks[0]?.id ?? '';
      expect(webhooks).toMatchObject([
        {
          url: receiver.url,
          description: null,
          eventTypes: ['send.*', 'message.received', 'contact.*'],
          headers: { 'X-Team': 'orders' },
          maxConcurrency: 3,
          rateLimitPerSecond: 50,
          ordered: true,
          enabled: true,
        },
      ]);

      await page.getByRole('button', { name: 'Send a test event' }).first().click();
      await page.getByText('The receiver accepted the test event').waitFor();
      const [test] = receiver.requests;
      expect(await verifyWebhook(test?.body ?? '', test?.headers ?? {}, secret)).toMatchObject({
        type: 'webhook.test',
      });

      // An edit does not overwrite fields that another user has changed meanwhile.
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      const edit = page.getByRole('dialog', { name: 'Edit the webhook' });
      // Only the button Disable says what happens to pending deliveries.
      expect(await edit.getByLabel('Enabled').count()).toBe(0);
      await product.call('PATCH', `/v1/webhooks/${id}`, { maxConcurrency: 7 });
      await edit.getByLabel('Description').fill('Orders');
      await edit.getByLabel('Requests per second').fill('');
      await edit.getByLabel('Only these contacts').fill('con_1\ncon_2');
      await edit.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'Orders' }).waitFor();
      expect(await get(id)).toMatchObject({
        description: 'Orders',
        rateLimitPerSecond: null,
        contactIds: ['con_1', 'con_2'],
        maxConcurrency: 7,
        ordered: true,
      });

      await page.getByRole('button', { name: 'Disable' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
      await page.getByText('A caller or the console disabled this webhook', { exact: false }).waitFor();
      expect(await get(id)).toMatchObject({ enabled: false });
      await page.getByRole('button', { name: 'Enable' }).click();
      await page.getByRole('button', { name: 'Replay missed events' }).waitFor();
      expect(await get(id)).toMatchObject({ enabled: true });

      await page.getByRole('button', { name: 'Delete' }).click();
      const confirmation = page.getByRole('dialog', { name: 'Delete the webhook?' });
      await confirmation.getByText('This cannot be undone', { exact: false }).waitFor();
      await confirmation.getByRole('button', { name: 'Delete the webhook' }).click();
      await page.getByText('No webhooks yet').waitFor();
      expect((await product.call('GET', `/v1/webhooks/${id}`)).status).toBe(404);
    });
  });

  it('the dialog of a new webhook stays open while its request runs, so that the secret is always shown', async () => {
    await withConsole('/console/webhooks', async (page) => {
      let answer: (() => void) | undefined;
      await page.route('**/v1/webhooks', async (route) => {
        if (route.request().method() === 'POST') await new Promise<void>((resolve) => (answer = resolve));
        await route.continue();
      });
      await page.getByRole('button', { name: 'Add a webhook' }).first().click();
      const form = page.getByRole('dialog', { name: 'Add a webhook' });
      await form.getByLabel('URL').fill(receiver.url);
      await form.getByRole('button', { name: 'Add the webhook' }).click();
      await eventually('the webhook is requested', () => answer);
      await tryToCloseDialog(page);
      expect(await form.isVisible()).toBe(true);
      answer?.();
      const added = page.getByRole('dialog', { name: 'Webhook added' });
      await added.getByRole('region', { name: 'Signing secret' }).waitFor();
    });
  });

  it('a message about a button of a dialog is shown inside the dialog, where the message can be read and closed', async () => {
    await withConsole('/console/webhooks', async (page) => {
      await page.getByRole('button', { name: 'Add a webhook' }).first().click();
      const form = page.getByRole('dialog', { name: 'Add a webhook' });
      await form.getByLabel('URL').fill(receiver.url);
      await form.getByRole('button', { name: 'Add the webhook' }).click();
      const added = page.getByRole('dialog', { name: 'Webhook added' });
      await added.getByRole('button', { name: 'Copy' }).first().click();
      await added.getByText('Copied', { exact: true }).waitFor();
      await added.getByRole('button', { name: 'Close the message' }).click();
      await added.getByText('Copied', { exact: true }).waitFor({ state: 'detached' });
    });
  });

  it('the dialog of a replay counts the deliveries once the user pauses typing', async () => {
    const { id } = await add();
    await withConsole(`/console/webhooks/${id}`, async (page) => {
      const counted: (string[] | undefined)[] = [];
      await page.route('**/replay', async (route) => {
        const { eventTypes } = route.request().postDataJSON() as { eventTypes?: string[] };
        counted.push(eventTypes);
        await route.continue();
      });
      await page.getByRole('button', { name: 'Replay …' }).click();
      const dialog = page.getByRole('dialog', { name: 'Replay events' });
      await dialog.getByText('No event matches', { exact: false }).waitFor();
      await dialog.getByLabel('All event types of the webhook').uncheck();
      await dialog.getByLabel('Other event types').pressSequentially('message.unheard');
      await eventually('the typed event type is counted', () => counted.at(-1)?.[0] === 'message.unheard');
      expect(counted.length).toBeLessThan('message.unheard'.length);
    });
  });

  it('the dialog of a replay stays open while its request runs, and shows why the replay was refused', async () => {
    const { id } = await add();
    await withConsole(`/console/webhooks/${id}`, async (page) => {
      let refuse: (() => void) | undefined;
      await page.route('**/replay', async (route) => {
        const { dryRun } = route.request().postDataJSON() as { dryRun?: boolean };
        if (dryRun === true) {
          await route.continue();
          return;
        }
        await new Promise<void>((resolve) => (refuse = resolve));
        await route.fulfill({ status: 409, json: { code: 'conflict', detail: 'It is disabled.' } });
      });
      await page.getByRole('button', { name: 'Replay …' }).click();
      const dialog = page.getByRole('dialog', { name: 'Replay events' });
      await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
      await eventually('the replay is requested', () => refuse);
      await tryToCloseDialog(page);
      expect(await dialog.isVisible()).toBe(true);
      refuse?.();
      await dialog.getByText('It is disabled.').waitFor();
    });
  });

  it('the newest deliveries can be shown if the page of deliveries in the address cannot be read', async () => {
    const { id } = await add();
    await withConsole(`/console/webhooks/${id}?cursor=gone`, async (page) => {
      const deliveries = page
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: 'Deliveries' }) });
      await deliveries.getByRole('alert').waitFor();
      await deliveries.getByRole('link', { name: 'Newest' }).click();
      await deliveries.getByText('No deliveries yet').waitFor();
      expect(await deliveries.getByRole('alert').count()).toBe(0);
    });
  });

  it('a webhook that Tidings disabled is shown as disabled without a reload, and with the reason', async () => {
    const { id } = await add({ description: 'Gone' });
    await withConsole('/console/webhooks', async (page) => {
      await page.getByRole('row').filter({ hasText: 'Gone' }).waitFor();
      receiver.status = 410;
      await product.call('POST', `/v1/webhooks/${id}/test`);
      await page.getByText('410 Gone', { exact: false }).waitFor();
      await page.getByRole('link', { name: 'Gone', exact: true }).click();
      await page.getByText('Disabled by Tidings').waitFor();
    });
  });

  it('the signing secret is shown on request, and after a rotation the page counts down to the expiry of the old secret', async () => {
    const { id, secret } = await add();
    await withConsole(`/console/webhooks/${id}`, async (page, { goTo }) => {
      await page.getByRole('button', { name: 'Reveal the secret' }).click();
      const code = page.getByRole('region', { name: 'Signing secret' });
      expect(await code.textContent()).toBe(secret);
      await page.getByRole('button', { name: 'Hide the secret' }).click();
      await code.waitFor({ state: 'detached' });

      await page.getByRole('button', { name: 'Rotate …' }).click();
      const dialog = page.getByRole('dialog', { name: 'Rotate the signing secret?' });
      await dialog.getByLabel('The old secret stays valid for').selectOption({ label: '1 hour' });
      await dialog.getByRole('button', { name: 'Rotate the secret' }).click();
      const countdown = page.getByText('Deliveries are signed with the old secret, too', { exact: false });
      await countdown.waitFor();
      const first = (await countdown.textContent()) ?? '';
      expect(first).toMatch(/\b(1:00:00|59:\d\d)\b/);
      await eventually('the time runs down', async () => (await countdown.textContent()) !== first);
      const rotated = (await code.textContent()) ?? '';
      expect(rotated).toMatch(/^whsec_/);
      expect(rotated).not.toBe(secret);

      await page.getByRole('button', { name: 'Send a test event' }).first().click();
      await page.getByText('The receiver accepted the test event').waitFor();
      const { body = '', headers = {} } = receiver.requests[0] ?? {};
      for (const each of [secret, rotated]) await verifyWebhook(body, headers, each);

      // The countdown is still there when the user returns.
      await goTo('/console/webhooks');
      await goTo(`/console/webhooks/${id}`);
      await countdown.waitFor();
    });
  });

  it('the copied curl command sends the delivery with a valid signature, and contains no secret', async () => {
    const { id, secret } = await add({ headers: { Authorization: 'Bearer of-the-receiver' } });
    await product.simulate('messages', {
      phoneNumber: PHONE,
      text: `It's "quoted" $HOME \`id\` \\n !! %s <b>é 🎉</b>\nsecond line`,
    });
    const delivery = await eventually('the message is delivered', async () =>
      (await deliveriesOf(id, 'succeeded')).find(({ eventType }) => eventType === 'message.received'),
    );
    const sent = receiver.requests.find(({ headers }) => headers['webhook-id'] === delivery.eventId);
    let command = '';
    await withConsole(`/console/deliveries/${delivery.id}`, async (page) => {
      await page.getByText(`webhook-id: ${delivery.eventId}`).waitFor();
      await page.getByText(`webhook-timestamp: ${String(sent?.headers['webhook-timestamp'])}`).waitFor();
      await page.getByRole('button', { name: 'Copy as curl' }).click();
      await page.getByText('Copied', { exact: true }).waitFor();
      command = await clipboardOf(page);
    });
    expect(command).not.toContain(secret);
    expect(command).not.toContain('of-the-receiver');
    for (const shell of ['bash', 'sh']) {
      receiver.requests.length = 0;
      const { stdout } = await promisify(execFile)(shell, ['-c', command], {
        env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secret, HEADER_AUTHORIZATION: 'Bearer mine' },
      });
      expect(stdout).toContain('204');
      const [{ body, headers } = { body: Buffer.of(), headers: {} }] = receiver.requests;
      expect(headers).toMatchObject({ authorization: 'Bearer mine', 'content-type': 'application/json' });
      const event = await verifyWebhook(body, headers, secret);
      expect(event).toEqual(JSON.parse(sent?.body.toString() ?? ''));
    }
    // Without the secret, nothing is sent.
    await expect(
      promisify(execFile)('sh', ['-c', command], { env: { PATH: process.env['PATH'] } }),
    ).rejects.toThrow('Set WEBHOOK_SECRET');
  });

  describe('the copied example receiver', () => {
    let folder: string;
    beforeAll(async () => {
      await mkdir(join(ROOT, '.data'), { recursive: true });
      folder = await mkdtemp(join(ROOT, '.data/verifiers-'));
    });
    afterAll(async () => {
      await rm(folder, { recursive: true, force: true });
    });

    /** For each language, the program that is needed, and the command that runs a copied receiver. */
    const RECEIVERS: {
      language: string;
      needs: string | undefined;
      commandOf: (code: string) => Promise<[string, ...string[]]>;
    }[] = [
      {
        language: 'TypeScript',
        needs: undefined,
        commandOf: async (code) => {
          const outfile = join(folder, 'receiver.mjs');
          await build({
            stdin: { contents: code, loader: 'ts', resolveDir: ROOT },
            outfile,
            bundle: true,
            platform: 'node',
            format: 'esm',
            alias: { '@tidings/client': join(ROOT, 'libs/client/src/index.ts') },
            logLevel: 'silent',
          });
          return [process.execPath, outfile];
        },
      },
      {
        language: 'Python',
        needs: 'python3',
        commandOf: async (code) => {
          await writeFile(join(folder, 'receiver.py'), code);
          return ['python3', join(folder, 'receiver.py')];
        },
      },
      {
        language: 'Go',
        needs: 'go',
        commandOf: async (code) => {
          await writeFile(join(folder, 'receiver.go'), code);
          const program = join(folder, 'receiver-go');
          await promisify(execFile)('go', ['build', '-o', program, join(folder, 'receiver.go')], {
            cwd: folder,
            env: { ...process.env, CGO_ENABLED: '0' },
          });
          return [program];
        },
      },
    ];
    for (const { language, needs, commandOf } of RECEIVERS) {
      const isMissing = needs !== undefined && findProgram(needs) === undefined;
      if (isMissing)
        process.stderr.write(`SKIPPED: the receiver in ${language} is not tested without ${needs}\n`);
      (isMissing ? it.skip : it)(
        `in ${language} accepts only deliveries with a valid signature`,
        async () => {
          const port = await findFreePort();
          const url = `http://127.0.0.1:${port}/hooks/a%20b?from=tidings`;
          const { id, secret } = await add({
            url,
            eventTypes: ['message.received', 'send.*'],
            enabled: false,
          });
          let code = '';
          await withConsole(`/console/webhooks/${id}`, async (page) => {
            await page.getByRole('tab', { name: 'TypeScript' }).focus();
            // The arrow keys go from tab to tab.
            for (let n = 0; n < RECEIVERS.findIndex((each) => each.language === language); n += 1)
              await page.keyboard.press('ArrowRight');
            const panel = page.getByRole('tabpanel', { name: language });
            await panel.getByRole('button', { name: 'Copy' }).click();
            await page.getByText('Copied', { exact: true }).waitFor();
            code = await clipboardOf(page);
          });
          expect(code).toContain('/hooks/a%20b?from=tidings');
          expect(code).toContain('"message.received"');
          const [file, ...parameters] = await commandOf(code);
          const program = spawn(file, parameters, {
            cwd: folder,
            env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secret, PORT: String(port) },
          });
          let printed = '';
          for (const stream of [program.stdout, program.stderr])
            stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
          try {
            await eventually('the receiver listens', () => printed.includes('Listening on'));
            const post = async (
              type: string,
              changes: Record<string, string> = {},
              to = url,
            ): Promise<number> => {
              const body = JSON.stringify({ id: `evt_${type}`, type, data: {} });
              const headers = { ...(await signWebhook(body, { id: `evt_${type}`, secret })), ...changes };
              return (await fetch(to, { method: 'POST', headers, body })).status;
            };
            await eventually('it answers', async () => (await post('send.sent').catch(() => 0)) === 204);
            expect(await post('message.received')).toBe(204);
            expect(await post('contact.created')).toBe(204);
            expect(await post('message.received', { 'webhook-id': 'evt_other' })).toBe(401);
            for (const timestamp of ['1', '²', '9'.repeat(400)])
              expect(await post('message.received', { 'webhook-timestamp': timestamp })).toBe(401);
            expect(await post('message.received', {}, `http://127.0.0.1:${port}/other`)).toBe(404);
            await eventually('it handled both events', () =>
              printed.includes('message.received evt_message.received'),
            );
            expect(printed).toContain('send.sent evt_send.sent');
            expect(printed).not.toContain('contact.created');
          } finally {
            program.kill('SIGKILL');
            await once(program, 'close');
          }
        },
      );
    }
  });
});
