import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Delivery, Send, Webhook } from '#client';
import { findBrowserFor, withBrowser } from './browser.js';
import { openSignIn } from './console.js';
import { eventually } from './eventually.js';
import { type Device, type Hand, handOf } from './hand.js';
import { Product } from './product.js';
import { Receiver } from './receiver.js';
import { WebhookReceiver } from './webhook-receiver.js';

/** Number of deliveries that fail. */
const FAILED = 6;
/** Number of deliveries of the replay that the receiver answers before the test checks the progress bar. */
const ANSWERED = 2;
/** Maximum number of presses from the overview to the reply of a failing receiver. */
const MAX_STEPS_TO_REPLY = 3;

/** Defines tests in which a user completes tasks with one input device only, from the sign-in to the sign-out. */
export function describeTours(device: Device): void {
  const browser = findBrowserFor(`the console by ${device} alone`);

  (browser === undefined ? describe.skip : describe)(`by ${device} alone, a user of the console`, () => {
    let product: Product;

    beforeAll(async () => {
      // A delivery fails after two attempts.
      product = await Product.start({ SEND_CONFIRM_MS: '1000', WEBHOOK_RETRY_SCHEDULE_SECONDS: '1' });
    });

    afterEach(async () => {
      const { webhooks } = await product.json<{ webhooks: Webhook[] }>('GET', '/v1/webhooks');
      for (const { id } of webhooks) await product.call('DELETE', `/v1/webhooks/${id}`);
    });

    afterAll(async () => {
      await product[Symbol.asyncDispose]();
    });

    /** Signs in, runs the body on the overview, signs out, and asserts that nothing went wrong on the page. */
    async function signedIn(body: (page: Page, hand: Hand) => Promise<void>): Promise<void> {
      await withBrowser(browser ?? '', async (context) => {
        await context.grantPermissions(['clipboard-read', 'clipboard-write']);
        const { page, expectNoTrouble } = await openSignIn(context, product);
        const hand = handOf(device, page);
        try {
          await hand.write(page.getByLabel('API key'), product.apiKey);
          await hand.press(page.getByRole('button', { name: 'Sign in' }));
          await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
          await body(page, hand);
          await hand.press(page.getByRole('button', { name: 'Sign out' }));
          await hand.write(page.getByLabel('API key'), 'another');
        } catch (error) {
          throw new Error(`the page shows:\n${await page.locator('body').innerText()}`, { cause: error });
        }
        expectNoTrouble();
      });
    }

    it('takes the tour of the README: subscribes, sends, and sees the reply and each event', async () => {
      const phoneNumber = '+15551230001';
      await using receiver = await WebhookReceiver.start(product.api);
      await signedIn(async (page, hand) => {
        receiver.secret = await addWebhook(page, hand, receiver.url);
        await sendFirst(page, hand, phoneNumber);

        // Opens the page of the send, by the link at its message.
        const timeline = page.getByRole('log', { name: 'Messages' });
        await hand.press(timeline.getByRole('link', { name: 'Send details' }));
        await page.getByText('The message was delivered to the recipient.').waitFor();
        await hand.press(page.getByRole('link', { name: 'Conversation', exact: true }));

        const { sends } = await product.json<{ sends: Send[] }>('GET', '/v1/sends');
        const contactId = sends[0]?.contactId;
        await product.simulate('typing', { contactId, message: 'Hello back from the phone' });
        await timeline.getByText('Hello back from the phone').waitFor();

        await eventually('the receiver got the three events', () => receiver.events.length === 3);
        expect(receiver.events.map(({ type }) => type)).toEqual(MESSAGE_EVENTS);
        expect(receiver.invalidRequests).toEqual([]);
        await seeEvents(page, hand, receiver.url);
        await seeDeliveries(page, hand, receiver.url);
      });
    });

    it('goes from the overview to the reply of a failing webhook in three steps, and replays all failed deliveries', async () => {
      const phoneNumber = '+15551230002';
      await using receiver = await Receiver.start();
      Object.assign(receiver, { status: 503, reply: 'The database is full.' });
      const { id } = await product.json<Webhook>('POST', '/v1/webhooks', {
        url: receiver.url,
        description: 'Orders',
        eventTypes: ['message.received'],
        maxConcurrency: 1,
      });
      await product.simulate('contacts', { name: 'Ada', phoneNumber });
      await product.simulate('messages', { phoneNumber, text: 'Message {n}', count: FAILED });
      const countOf = async (status: string): Promise<number> => {
        const path = `/v1/webhooks/${id}/deliveries?limit=100&status=${status}`;
        return (await product.json<{ deliveries: Delivery[] }>('GET', path)).deliveries.length;
      };
      await eventually('all deliveries have failed', async () => (await countOf('failed')) === FAILED);

      await signedIn(async (page, hand) => {
        await page.getByText('Deliveries to the webhook Orders are failing.').waitFor();
        const before = hand.steps;
        await hand.press(page.getByRole('link', { name: 'Show the webhook' }));
        const state = page.getByRole('region', { name: 'State' });
        await hand.press(state.getByRole('link', { name: 'status 503' }));
        const reply = page.getByRole('region', { name: 'First kilobyte of the reply' }).first();
        expect(await reply.textContent()).toBe('The database is full.');
        expect(hand.steps - before).toBeLessThanOrEqual(MAX_STEPS_TO_REPLY);

        receiver.reset();
        receiver.answers = ANSWERED;
        await hand.press(page.getByRole('link', { name: '← Orders' }));
        await hand.press(page.getByRole('button', { name: 'Replay failed events' }));
        const dialog = page.getByRole('dialog', { name: 'Replay events' });
        await dialog.getByText(`${FAILED} deliveries will be attempted.`).waitFor();
        await hand.press(dialog.getByRole('button', { name: 'Replay', exact: true }));
        const bar = page.getByRole('progressbar', { name: 'Deliveries that have ended' });
        const progress = async (): Promise<number> => Number(await bar.getAttribute('value'));
        await eventually('the bar shows what was delivered', async () => (await progress()) === ANSWERED);
        receiver.answerAll();
        await page.getByText(`${FAILED} deliveries have ended, and none is pending.`).waitFor();
        expect(await progress()).toBe(FAILED);
        await state.getByText('Deliveries succeed').waitFor();
        await hand.press(page.getByRole('link', { name: 'Show the failed deliveries' }));
        await page.getByText('No delivery is failed.').waitFor();
        await hand.open('Overview', 'o');
        await page.getByText('Everything works.').waitFor();
      });
      expect([await countOf('failed'), await countOf('pending')]).toEqual([0, 0]);
      expect(receiver.requests).toHaveLength(FAILED);
    });

    it('opens an unknown send from the overview, records its outcome, and sends it again', async () => {
      const phoneNumber = '+15551230003';
      await product.simulate('faults', [
        { match: { method: 'POST', phoneNumber }, fault: { kind: 'status', status: 500 } },
      ]);
      const send = { phoneNumber, message: 'Your table is ready' };
      const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', send);
      const get = (): Promise<Send> => product.json<Send>('GET', `/v1/sends/${id}`);
      await eventually('the send is unknown', async () => (await get()).status === 'unknown');

      await signedIn(async (page, hand) => {
        await hand.press(page.getByRole('link', { name: 'Decide' }));
        await hand.press(page.getByRole('cell').getByRole('link', { name: phoneNumber }));
        await page.getByText('Nothing is sent again unless you decide so.').waitFor();
        await pressAndConfirm(page, hand, 'Record as failed', 'The outcome is recorded as failed');
        await page.getByText('The send failed. The recipient gets nothing').waitFor();
        await page.getByRole('link', { name: 'send.failed' }).waitFor();
        expect((await get()).status).toBe('failed');

        // A failed send can be sent again, and the page follows it.
        await pressAndConfirm(page, hand, 'Send again', 'the recipient gets the message twice');
        await page.getByText('The message was delivered to the recipient.').waitFor();
        await page.getByRole('link', { name: 'message.delivered' }).waitFor();
        await hand.open('Overview', 'o');
        await page.getByText('Everything works.').waitFor();
      });
      expect((await product.texts()).filter((text) => text === send.message)).toHaveLength(1);
    });
  });
}

const MESSAGE_EVENTS = ['message.sent', 'message.delivered', 'message.received'];

/** Adds an ordered webhook for the events of messages, and returns its secret, copied from the page. */
async function addWebhook(page: Page, hand: Hand, url: string): Promise<string> {
  await hand.open('Webhooks', 'w');
  await hand.press(page.getByRole('button', { name: 'Add a webhook' }).first());
  const form = page.getByRole('dialog', { name: 'Add a webhook' });
  await hand.write(form.getByLabel('URL'), url);
  await hand.press(form.getByLabel('All events', { exact: false }));
  await hand.press(form.getByLabel('message.*', { exact: true }));
  await hand.press(form.getByText('Contacts, headers, limits and order'));
  await hand.press(form.getByLabel('Ordered', { exact: false }));
  await hand.press(form.getByRole('button', { name: 'Add the webhook' }));
  const added = page.getByRole('dialog', { name: 'Webhook added' });
  const secret = await added.getByRole('region', { name: 'Signing secret' }).textContent();
  await hand.press(added.getByRole('button', { name: 'Copy' }).first());
  await page.getByText('Copied', { exact: true }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
  await hand.press(added.getByRole('link', { name: 'Open the webhook' }));
  await page.getByRole('heading', { name: url, level: 1 }).waitFor();
  return secret ?? '';
}

/** Sends the first message to a number, and waits until the page shows the message as delivered. */
async function sendFirst(page: Page, hand: Hand, phoneNumber: string): Promise<void> {
  await hand.open('Conversations', 'c');
  await hand.write(page.getByRole('searchbox', { name: 'Search conversations' }), phoneNumber);
  await hand.press(page.getByRole('link', { name: `New conversation with ${phoneNumber}` }));
  await hand.write(page.getByRole('textbox', { name: 'Message' }), 'Hello from Tidings');
  await hand.press(page.getByRole('button', { name: 'Send', exact: true }));
  const bubble = page.getByRole('log', { name: 'Messages' }).getByRole('listitem').filter({
    hasText: 'Hello from Tidings',
  });
  await bubble.getByText('Delivered', { exact: true }).waitFor();
  expect(await bubble.count()).toBe(1);
}

/** Finds each event of the tour in the list of events, and the delivery of the last event on its page. */
async function seeEvents(page: Page, hand: Hand, url: string): Promise<void> {
  await hand.open('Events', 'e');
  await hand.press(page.getByRole('button', { name: 'Show the stored events from the start' }));
  const list = page.getByRole('list', { name: 'Events, newest first' });
  for (const type of MESSAGE_EVENTS)
    await list.getByRole('link', { name: type, exact: true }).first().waitFor();
  await hand.press(list.getByRole('link', { name: 'message.received', exact: true }));
  const row = page.getByRole('row').filter({ hasText: url });
  await row.getByText('succeeded').waitFor();
  await row.getByText('204').waitFor();
}

/** Finds each event of the tour among the deliveries of the webhook. */
async function seeDeliveries(page: Page, hand: Hand, url: string): Promise<void> {
  await hand.open('Webhooks', 'w');
  await hand.press(page.getByRole('cell').getByRole('link', { name: url }));
  for (const type of MESSAGE_EVENTS)
    await page.getByRole('row').filter({ hasText: type }).getByText('succeeded').waitFor();
}

/**
 * Presses a button of the page, and confirms in the dialog.
 * @param verb label of both buttons
 * @param text what the dialog says
 */
async function pressAndConfirm(page: Page, hand: Hand, verb: string, text: string): Promise<void> {
  await hand.press(page.getByRole('button', { name: verb }));
  const dialog = page.getByRole('dialog', { name: `${verb}?` });
  await dialog.getByText(text).waitFor();
  await hand.press(dialog.getByRole('button', { name: verb }));
  await dialog.waitFor({ state: 'detached' });
}
