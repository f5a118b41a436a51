import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { signWebhook, verifyWebhookRequest, verifyWebhook, WebhookVerificationError } from './webhook.js';

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const BODY = JSON.stringify({ id: 'evt_1', type: 'message.received', data: { message: { text: 'Grüße' } } });
const NOW = 1_800_000_000_000;

function signed(secret: string, body = BODY, at = NOW): Record<string, string> {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at / 1_000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', new Date(at), body),
  };
}

describe('the verification of a webhook request', () => {
  const secret = newSecret();

  it('returns the event for a body of text or bytes, and for headers as an object or a Headers instance', async () => {
    const headers = signed(secret);
    const inCapitals = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    );
    const bytes = new TextEncoder().encode(BODY);
    for (const [body, given] of [
      [BODY, headers],
      [bytes, new Headers(headers)],
      [BODY, inCapitals],
    ] as const)
      expect(await verifyWebhook(body, given, secret, { nowMs: NOW })).toEqual(JSON.parse(BODY));
  });

  it('accepts a Request object of the Fetch API', async () => {
    const request = new Request('http://receiver/', { method: 'POST', headers: signed(secret), body: BODY });
    expect(await verifyWebhookRequest(request, secret, { nowMs: NOW })).toEqual(JSON.parse(BODY));
  });

  it('accepts a request with several signatures if one of them matches one of the given secrets, as during a rotation', async () => {
    const [old, current] = [newSecret(), newSecret()];
    const [one, other] = [signed(old), signed(current)];
    const both = {
      ...one,
      'webhook-signature': `${String(one['webhook-signature'])} v1a,unknown ${String(other['webhook-signature'])}`,
    };
    for (const secrets of [[old, current], [current], old])
      expect(await verifyWebhook(BODY, both, secrets, { nowMs: NOW })).toMatchObject({ id: 'evt_1' });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['another body', () => verifyWebhook(`${BODY} `, signed(secret), secret, { nowMs: NOW })],
    ['another secret', () => verifyWebhook(BODY, signed(secret), newSecret(), { nowMs: NOW })],
    [
      'another id',
      () => verifyWebhook(BODY, { ...signed(secret), 'webhook-id': 'evt_2' }, secret, { nowMs: NOW }),
    ],
    ['an old timestamp', () => verifyWebhook(BODY, signed(secret), secret, { nowMs: NOW + 301_000 })],
    ['a future timestamp', () => verifyWebhook(BODY, signed(secret), secret, { nowMs: NOW - 301_000 })],
    [
      'no signature',
      () => verifyWebhook(BODY, { ...signed(secret), 'webhook-signature': '' }, secret, { nowMs: NOW }),
    ],
    [
      'a signature that is not base64',
      () => verifyWebhook(BODY, { ...signed(secret), 'webhook-signature': 'v1,***' }, secret, { nowMs: NOW }),
    ],
    [
      'a timestamp that is not a number',
      () => verifyWebhook(BODY, { ...signed(secret), 'webhook-timestamp': 'now' }, secret, { nowMs: NOW }),
    ],
  ])('rejects a request with %s', async (_, verify) => {
    await expect(verify()).rejects.toBeInstanceOf(WebhookVerificationError);
  });

  it('throws a TypeError if the secret does not have the form of a webhook secret', async () => {
    await expect(verifyWebhook(BODY, signed(secret), 'secret', { nowMs: NOW })).rejects.toBeInstanceOf(
      TypeError,
    );
  });
});

describe('a signature that the client creates', () => {
  it('is accepted by the client itself and by the Standard Webhooks library', async () => {
    const secret = newSecret();
    const headers = await signWebhook(BODY, { id: 'evt_1', secret, atMs: Date.now() });
    expect(await verifyWebhook(BODY, headers, secret)).toEqual(JSON.parse(BODY));
    expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY));
    await expect(verifyWebhook(`${BODY} `, headers, secret)).rejects.toBeInstanceOf(WebhookVerificationError);
  });
});
