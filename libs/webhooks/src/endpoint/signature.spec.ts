import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { generateSigningSecret, signDelivery, signingKeyOf } from './signature.js';

const body = '{"type":"message.received","data":{"text":"Grüße 👋 \\u2028"}}';
const now = Math.floor(Date.now() / 1000);

describe('the signature of a delivery', () => {
  it('is accepted by the Standard Webhooks library', () => {
    const secret = generateSigningSecret();
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(now),
      'webhook-signature': signDelivery([signingKeyOf(secret)], 'evt_1', now, body),
    };
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  });

  it('is accepted with each secret that signed the delivery, and rejected with any other secret', () => {
    const secrets = [generateSigningSecret(), generateSigningSecret()];
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(now),
      'webhook-signature': signDelivery(secrets.map(signingKeyOf), 'evt_1', now, body),
    };
    for (const secret of secrets) expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
    expect(() => new Webhook(generateSigningSecret()).verify(body, headers)).toThrow();
  });

  it('is rejected for a different body, id or timestamp', () => {
    const secret = generateSigningSecret();
    const signature = signDelivery([signingKeyOf(secret)], 'evt_1', now, body);
    const verify = (id: string, at: number, text: string) => (): unknown =>
      new Webhook(secret).verify(text, {
        'webhook-id': id,
        'webhook-timestamp': String(at),
        'webhook-signature': signature,
      });
    expect(verify('evt_1', now, body)).not.toThrow();
    expect(verify('evt_2', now, body)).toThrow();
    expect(verify('evt_1', now + 1, body)).toThrow();
    expect(verify('evt_1', now, `${body} `)).toThrow();
  });
});

describe('a signing secret', () => {
  it('has 32 random bytes', () => {
    const secret = generateSigningSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(generateSigningSecret()).not.toBe(secret);
  });
});
