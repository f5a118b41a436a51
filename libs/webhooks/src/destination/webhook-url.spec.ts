import { describe, expect, it } from '@jest/globals';
import { ForbiddenDestinationError } from '../endpoint/endpoint.js';
import { parseWebhookUrl } from './webhook-url.js';

const HOSTILE_FORMS = [
  ...['', 'example.com', '//example.com/hook', '/hook', 'https://', 'https:///', 'http://:80/'],
  ...['ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com/', 'ws://example.com/'],
  ...['javascript:alert(1)', 'data:text/plain,hi', 'unix:/run/docker.sock', 'redis://example.com:6379/'],
  ...['https://user@example.com/', 'https://user:secret@example.com/', 'https://:secret@example.com/'],
  ...['https://example.com@127.0.0.1/', 'https://example.com/#part', 'https://example.com/#'],
  ...['https://example.com:0/', 'https://example.com:65536/', 'https://example.com:-1/'],
  ...['https://exam ple.com/', 'https://[::1/', 'https://[fe80::1%25eth0]/', 'https://1.2.3.4.5/'],
  ...['https://256.256.256.256/', 'https://./', 'https://example.com../', 'https://%00/'],
  `https://example.com/${'a'.repeat(2_048)}`,
  // The percent-encoded form is too long.
  `https://example.com/${'é'.repeat(400)}`,
  `https://${'a'.repeat(254)}/`,
];

describe('the URL of a webhook', () => {
  it.each(HOSTILE_FORMS)('is refused because of its form, before the host name is resolved: %p', (text) => {
    expect(() => parseWebhookUrl(text)).toThrow(ForbiddenDestinationError);
  });

  it('may have any valid host name at first, because addresses are checked only after the name is resolved', () => {
    for (const text of ['https://example.com/', 'https://example.com./', 'https://bücher.example/x']) {
      expect(() => parseWebhookUrl(text)).not.toThrow();
    }
  });
});
