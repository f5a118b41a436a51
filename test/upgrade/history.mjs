import { until } from './old-build.mjs';

/** @import { Caller } from './caller.mjs' */

/** How long upstream hides the messages of the last sends, in milliseconds: until after the snapshot. */
const HIDDEN_MS = 90_000;
const DISTANT = '2126-01-01T00:00:00.000Z';
const SCOPES = ['messages:send', 'messages:read', 'webhooks:manage', 'events:read', 'admin'];
/** Contacts with their number of old messages. */
const CONTACTS = /** @type {const} */ ({
  default: { Ann: 45, Ben: 3, Hal: 1 },
  oldest: { Dora: 45, Eli: 2 },
  shuffled: { Fay: 25, Gus: 1 },
});

/** Variables of the worker of the first part: sends and deliveries end soon. */
export const SHORT_WAITS = {
  POLL_SWEEP_INTERVAL_MS: '10000',
  SEND_CONFIRM_MS: '1500',
  SEND_CONFIRM_MEDIA_MS: '1500',
  SEND_RETRY_SCHEDULE_SECONDS: '1',
  SEND_SAFE_STATUSES: '429,409',
  WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,1',
};

/** Variables of the worker of the second part: no send or delivery ends before the worker is killed seconds later. */
export const LONG_WAITS = {
  SEND_CONFIRM_MS: '60000',
  SEND_CONFIRM_MEDIA_MS: '60000',
  SEND_RETRY_SCHEDULE_SECONDS: '60',
  SEND_SAFE_STATUSES: '429,409',
  WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,60,60,60',
  WEBHOOK_TIMEOUT_MS: '60000',
  UPSTREAM_TIMEOUT_MS: '30000',
};

/**
 * Creates data before the first read: contacts, accounts, API keys, and webhooks of which one answers.
 * @param {Caller} caller
 * @param {(path: string) => string} receiver
 */
export async function register(caller, receiver) {
  const { build, names } = caller;
  for (const [account, contacts] of Object.entries(CONTACTS)) {
    for (const [name, count] of Object.entries(contacts)) await caller.contact(account, name, count);
  }
  for (const id of ['oldest', 'shuffled']) {
    const { baseUrl, apiKey } = build.upstreamOf(id);
    await build.json('POST', '/v1/accounts', { id, baseUrl, apiKey, requestsPerSecond: 50 });
    await caller.apiKey(id, { account: id, scopes: SCOPES });
  }
  await caller.apiKey('reader', { account: 'oldest', scopes: ['messages:read'] });
  const expiresAt = new Date(Date.now() + 2_000).toISOString();
  await caller.apiKey('expired', { account: 'default', scopes: SCOPES, expiresAt });
  const revoked = await caller.apiKey('revoked', { account: 'default', scopes: SCOPES });
  await build.json('DELETE', `/v1/api-keys/${revoked}`);

  const received = { eventTypes: ['message.received'] };
  await caller.webhook('live', { url: receiver('/live'), description: 'Answers at once' });
  await caller.webhook('failing', { url: receiver('/failing'), ...received });
  await caller.webhook('gone', { url: receiver('/gone'), ...received });
  await caller.webhook('off', { url: receiver('/live'), ...received });
  await caller.webhook('never on', { url: receiver('/live'), enabled: false });
  await caller.webhook('removed', { url: receiver('/live') });
  await build.json('DELETE', `/v1/webhooks/${names.webhooks['removed'] ?? ''}`);
}

/**
 * With short waits: waits for the first reads, deletes a message and a contact, and lets deliveries and sends end in
 * every possible way.
 * @param {Caller} caller
 */
export async function finishThings(caller) {
  const { build, names } = caller;
  for (const [account, contacts] of Object.entries(CONTACTS)) {
    for (const name of Object.keys(contacts)) await caller.receive(account, name, `Hello from ${name}`);
  }
  const deleted = await caller.receive('default', 'Ben', 'This will be deleted');
  names.messages['deleted'] = deleted;
  await build.simulate('default', 'messages/delete', { id: deleted });
  await build.simulate('default', 'contacts/delete', { contactId: names.contacts['Hal'] });
  await finishSends(caller);
  const { failing = '', gone = '' } = names.webhooks;
  await until('a delivery failed', async () => {
    const path = `/v1/webhooks/${failing}/deliveries?status=failed`;
    return (await build.json('GET', path)).deliveries.length > 2;
  });
  await until('a webhook is disabled by 410', async () => {
    return (await build.json('GET', `/v1/webhooks/${gone}`)).enabled === false;
  });
  await caller.emitted('message.deleted', deleted);
  await caller.emitted('contact.deleted', names.contacts['Hal'] ?? '');
}

/** @param {Caller} caller */
async function finishSends(caller) {
  const { build, names } = caller;
  const { messageId } = await caller.becomes(await caller.send('sent'), 'sent');
  names.messages['sent'] = messageId;
  await build.simulate('default', 'settings', { deliveredProbability: 1 });
  await caller.becomes(await caller.send('delivered'), 'delivered');
  const { id: read, contactId } = await caller.becomes(await caller.send('read'), 'delivered');
  await build.simulate('default', 'messages/read', { contactId });
  await caller.becomes(read, 'read');
  await caller.becomes(await caller.send('with a file', {}, { file: 'Sent' }), 'delivered');
  const everything = {
    ...{ fileUrl: 'https://files.example.com/photo.jpg', reference: 'order-1041', effect: 'confetti' },
    ...{ metadata: { order: 1041, tags: ['a', 'ü'] }, message: 'Grüße 👋🏽' },
  };
  const key = 'key-of-a-delivered-send';
  await caller.becomes(await caller.send('with everything', everything, { key }), 'delivered');
  const refused = { kind: 'status', status: 400 };
  await caller.becomes(await caller.send('failed', {}, { fault: refused }), 'failed');

  const fault = { kind: 'status', status: 500 };
  await caller.becomes(await caller.send('unknown', {}, { fault }), 'unknown');
  for (const [name, outcome, end] of /** @type {const} */ ([
    ['resolved as failed', 'failed', 'failed'],
    ['resolved as sent', 'sent', 'sent'],
    ['resent', 'resend', 'delivered'],
  ])) {
    const { id } = await caller.becomes(await caller.send(name, {}, { fault }), 'unknown');
    await build.json('POST', `/v1/sends/${id}/resolve`, { outcome });
    await caller.becomes(id, end);
  }
  await build.simulate('default', 'settings', { sendLostProbability: 1 });
  await caller.emitted('send.unconfirmed', await caller.send('unconfirmed'));
  await build.simulate('default', 'settings', { sendLostProbability: 0 });

  const expiresAt = new Date(Date.now() + 3_000).toISOString();
  const later = { kind: 'status', status: 409 };
  await caller.becomes(
    await caller.send('expired', { expiresAt }, { fault: later, times: 'always' }),
    'expired',
  );
  const cancelled = await caller.send('cancelled', { sendAt: DISTANT });
  await build.json('POST', `/v1/sends/${cancelled}/cancel`);
}

/**
 * With long waits, creates backlogs of receivers that do not answer, and sends in every unfinished state.
 * @param {Caller} caller
 * @param {(path: string) => string} receiver
 * @param {string} dead address at which no server listens
 */
export async function beginThings(caller, receiver, dead) {
  const { build, names } = caller;
  await build.json('PATCH', `/v1/webhooks/${names.webhooks['off'] ?? ''}`, { enabled: false });
  const ordered = await caller.webhook('ordered', { url: dead, ordered: true });
  const filtered = await caller.webhook('filtered', {
    ...{ url: dead, eventTypes: ['message.*'], contactIds: [names.contacts['Ann']] },
    ...{ headers: { Authorization: 'Bearer of the subscriber', 'X-Team': 'north' } },
    ...{ description: 'Of one contact', maxConcurrency: 2, rateLimitPerSecond: 50 },
  });
  await build.json('POST', `/v1/webhooks/${filtered}/rotate-secret`, { overlapSeconds: 30 * 86_400 });
  await caller.webhook('hanging', { url: receiver('/hanging'), eventTypes: ['message.received'] });
  await caller.webhook('of another account', { url: dead }, 'oldest');

  for (let n = 1; n <= 4; n += 1) await caller.receive('default', 'Ann', `Backlog ${n}`);
  await caller.receive('default', 'Ben', 'Backlog');
  await caller.receive('oldest', 'Dora', 'Backlog');
  const edited = await caller.receive('default', 'Ann', 'Before the edit');
  await build.simulate('default', 'messages/edit', { id: edited, message: 'After the edit' });
  await caller.emitted('message.updated', edited);
  await until('a delivery waits for its third attempt', async () => {
    const { deliveries } = await build.json('GET', `/v1/webhooks/${ordered}/deliveries?status=pending`);
    return deliveries.some((/** @type {{ attempts: object[] }} */ { attempts }) => attempts.length === 2);
  });
  await beginSends(caller);
}

/** @param {Caller} caller */
async function beginSends(caller) {
  const { build } = caller;
  await build.simulate('default', 'settings', { sendVisibleDelayMs: HIDDEN_MS });
  await caller.send('scheduled', { sendAt: DISTANT });
  await caller.becomes(await caller.send('accepted'), 'accepted');
  await caller.becomes(await caller.send('accepted with a file', {}, { file: 'Accepted' }), 'accepted');
  const later = { kind: 'status', status: 409 };
  await caller.becomes(await caller.send('queued after an attempt', {}, { fault: later }), 'queued', 1);

  const phoneNumber = caller.nextNumber();
  const taken = await caller.send('looked up, taken', { phoneNumber }, { fault: { kind: 'resetAfter' } });
  await caller.send('queued behind a look-up', { phoneNumber });
  const dropped = await caller.send('looked up, not taken', {}, { fault: { kind: 'resetBefore' } });
  for (const id of [taken, dropped]) await caller.becomes(id, 'relaying', 1);
  const slow = { kind: 'slow', delayMs: 3_600_000, processedFirst: true };
  await caller.becomes(await caller.send('being posted', {}, { fault: slow }), 'relaying');
  await until('upstream took the send', async () => {
    const { entries } = await build.simulate('default', 'ledger', { kind: 'send.accepted' });
    return entries.some((/** @type {{ message: string }} */ { message }) => message === 'being posted');
  });
}

/**
 * Makes the requests of callers while no worker runs.
 * @param {Caller} caller
 */
export async function acceptWithoutWorker(caller) {
  const phoneNumber = caller.nextNumber();
  await caller.send('queued', { phoneNumber });
  await caller.send('queued behind another', { phoneNumber });
  await caller.send('queued with a file', {}, { file: 'Waits' });
  await caller.send('queued, expires soon', { expiresAt: new Date(Date.now() + 20_000).toISOString() });
  await caller.send('scheduled, due soon', { sendAt: new Date(Date.now() + 30_000).toISOString() });
  await caller.send('queued with a key', {}, { key: 'key-of-a-queued-send' });
  await caller.send('queued in another account', {}, { account: 'oldest' });
  const cancelled = await caller.send('cancelled without a worker', { sendAt: DISTANT });
  await caller.build.json('POST', `/v1/sends/${cancelled}/cancel`);
}
