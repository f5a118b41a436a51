import { describe, expect, it } from '@jest/globals';
import { parseNetworks } from '#platform';
import { DestinationGuard } from './destination-guard.js';
import { normalizedHostOf, parseWebhookUrl } from './webhook-url.js';
import { ForbiddenDestinationError } from '../endpoint/endpoint.js';

const strict = new DestinationGuard([]);
const check = (guard: DestinationGuard, text: string) => (): void => {
  const url = parseWebhookUrl(text);
  guard.check(url, [normalizedHostOf(url)]);
};

const HOSTILE_HOSTS = [
  // Loopback, in every notation that URLs allow.
  ...['127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '017700000001', '0177.0.0.1'],
  ...['127.255.255.254', '127.0.0.1.', '１２７.0.0.1', '127。0。0。1', '①②⑦.0.0.1', '%31%32%37.0.0.1'],
  // unspecified, private, shared, link-local
  ...['0', '0.0.0.0', '0x0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '167772161', '172.16.0.1'],
  ...['172.31.255.255', '192.168.0.1', '192.168.257', '0xc0a80001', '100.64.0.1', '100.127.255.255'],
  // metadata services
  ...['169.254.169.254', '169.254.1.1', '0xa9fea9fe', '2852039166', '169.254.43518', '0251.0376.0251.0376'],
  ...['168.63.129.16', '100.100.100.200', '192.0.0.192', '[fd00:ec2::254]'],
  // multicast, broadcast, reserved, documentation, benchmarking, anycast of protocols
  ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '192.0.0.1', '192.0.2.1'],
  ...['198.51.100.1', '203.0.113.1', '198.18.0.1', '192.88.99.1'],
  // IPv6
  ...['[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[fe80::1]', '[fe80::a9fe:a9fe]', '[fec0::1]', '[fc00::1]'],
  ...['[fdff:ffff::1]', '[ff02::1]', '[ff0e::1]', '[2001:db8::1]', '[3fff::1]', '[100::1]', '[4000::1]'],
  // IPv4 in IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:10.0.0.1]', '[::ffff:a9fe:a9fe]', '[::127.0.0.1]'],
  ...[
    '[::8.8.8.8]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::10.0.0.1]',
    '[64:ff9b::a9fe:a9fe]',
  ],
  ...['[64:ff9b:1::1]', '[2002:7f00:1::]', '[2002:c0a8:1::1]', '[2002:a9fe:a9fe::]'],
  ...['[2001:0:7f00:1::f7f7:f7f7]', '[2001:0:808:808::80ff:fffe]', '[2001:0:808:808::f5ff:fffe]'],
];

describe('the destination guard', () => {
  it.each(HOSTILE_HOSTS)('refuses https://%s/', (host) => {
    expect(check(strict, `https://${host}/hook`)).toThrow(ForbiddenDestinationError);
  });

  it.each([
    ...['https://8.8.8.8/', 'https://1.1.1.1:8443/hook?a=b', 'https://172.32.0.1/', 'https://100.128.0.1/'],
    ...['https://[2606:4700:4700::1111]/', 'https://[64:ff9b::808:808]/', 'https://[2002:808:808::1]/'],
    'https://[::ffff:8.8.8.8]/',
  ])('accepts %s', (text) => {
    expect(check(strict, text)).not.toThrow();
  });

  it('refuses http:// to public addresses even if some networks are allowed', () => {
    const guard = new DestinationGuard(parseNetworks('10.0.0.0/8'));
    expect(check(guard, 'http://8.8.8.8/')).toThrow(/use https/);
    expect(check(strict, 'http://8.8.8.8/')).toThrow(/use https/);
  });

  it('accepts private addresses and http:// only in the allowed networks', () => {
    const guard = new DestinationGuard(parseNetworks('127.0.0.0/8,::1/128,10.1.0.0/16,fd12::/16'));
    for (const host of ['127.0.0.1', '2130706433', '[::1]', '10.1.2.3', '[fd12::5]', '[::ffff:10.1.2.3]']) {
      expect(check(guard, `http://${host}:8080/`)).not.toThrow();
      expect(check(guard, `https://${host}/`)).not.toThrow();
    }
    for (const host of [
      '10.2.0.1',
      '[fd13::1]',
      '169.254.169.254',
      '[::ffff:10.2.0.1]',
      '[64:ff9b::7f00:1]',
    ]) {
      expect(check(guard, `http://${host}/`)).toThrow(ForbiddenDestinationError);
      expect(check(guard, `https://${host}/`)).toThrow(ForbiddenDestinationError);
    }
  });

  it('refuses a URL with an error that names the reason and the setting to change', () => {
    expect(check(strict, 'https://10.0.0.1/')).toThrow(
      /10\.0\.0\.1 is not public \(private\).*WEBHOOK_ALLOW_NETWORKS/,
    );
  });

  it('refuses a destination if one of its addresses is forbidden', () => {
    const url = parseWebhookUrl('https://example.com/');
    expect(() => {
      strict.check(url, ['93.184.215.14', '10.0.0.1']);
    }).toThrow(ForbiddenDestinationError);
    expect(strict.refusal('https:', 'not an address')).toBeDefined();
  });
});
