import { describe, expect, it } from '@jest/globals';
import { parseNetworks } from '#platform';
import { WebhookUrlChecker } from './webhook-url-checker.js';
import { DestinationGuard } from './destination-guard.js';
import { ForbiddenDestinationError } from '../endpoint/endpoint.js';

const unknown = (): Promise<string[]> => Promise.reject(new Error('ENOTFOUND'));
const resolvesTo =
  (...addresses: string[]) =>
  (): Promise<string[]> =>
    Promise.resolve(addresses);
const checker = (networks: string, resolve: () => Promise<string[]>): WebhookUrlChecker =>
  new WebhookUrlChecker(new DestinationGuard(parseNetworks(networks)), resolve);

describe('the check of a new webhook’s URL', () => {
  it('accepts and normalizes an https URL whose host has public addresses', async () => {
    const check = checker('', resolvesTo('93.184.215.14', '2606:4700::1'));
    expect(await check.check('HTTPS://Example.COM:443/a/../hook')).toBe('https://example.com/hook');
  });

  it('refuses a host with at least one forbidden address', async () => {
    await expect(checker('', resolvesTo('10.0.0.1')).check('https://intranet.example/')).rejects.toThrow(
      ForbiddenDestinationError,
    );
    await expect(
      checker('', resolvesTo('93.184.215.14', '::1')).check('https://mixed.example/'),
    ).rejects.toThrow(/::1 is not public/);
  });

  it('accepts an unresolvable host for https and refuses it for http', async () => {
    await expect(checker('', unknown).check('https://later.example/')).resolves.toBe(
      'https://later.example/',
    );
    await expect(checker('10.0.0.0/8', unknown).check('http://later.example/')).rejects.toThrow(
      ForbiddenDestinationError,
    );
  });

  it('accepts http only if all addresses of the host are in the allowed networks', async () => {
    const text = 'http://hook.internal/';
    await expect(checker('10.0.0.0/8', resolvesTo('10.0.0.1', '10.9.9.9')).check(text)).resolves.toBe(text);
    await expect(checker('10.0.0.0/8', resolvesTo('10.0.0.1', '8.8.8.8')).check(text)).rejects.toThrow(
      ForbiddenDestinationError,
    );
    await expect(checker('', resolvesTo('8.8.8.8')).check(text)).rejects.toThrow(ForbiddenDestinationError);
  });

  it('treats localhost as this machine, even if the name does not resolve', async () => {
    for (const name of ['localhost', 'LOCALHOST.', 'a.localhost', 'localhost.localdomain']) {
      await expect(checker('', unknown).check(`https://${name}/`)).rejects.toThrow(ForbiddenDestinationError);
      await expect(checker('127.0.0.0/8', unknown).check(`http://${name}/`)).resolves.toContain('localhost');
    }
  });
});
