import { expect, it } from '@jest/globals';
import { parseNetworks } from '#platform';
import { renderConfigurationDocument } from '../../libs/platform/src/environment/configuration-page.js';
import { read } from './pages.js';

it('docs/configuration.md is identical to the output of npm run docs:configuration', () => {
  expect(read('docs/configuration.md')).toBe(renderConfigurationDocument());
});

it('docs/configuration.md describes the purpose and the allowed values of every environment variable', () => {
  const rows = renderConfigurationDocument()
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  expect(rows.length).toBeGreaterThan(40);
  for (const row of rows) expect(row.split(' | ').every((cell) => !/^\|?\s*\|?$/.test(cell))).toBe(true);
});

it('every environment variable of the product is set or passed on by docker-compose.yml or the Dockerfile', () => {
  const names = [...renderConfigurationDocument().matchAll(/^\| `([A-Z\d_]+)`/gm)].map(
    ([, name = '']) => name,
  );
  expect(names.length).toBeGreaterThan(40);
  const files = read('docker-compose.yml') + read('Dockerfile');
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(files))).toEqual([]);
});

it('docker-compose.yml or the Dockerfile sets or passes on every environment variable of the simulator', () => {
  const source = read('apps/simulator/src/environment.ts');
  const names = [...source.matchAll(/'(SIMULATOR_[A-Z_]+)'/g)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(5);
  const [, service = ''] = /^ {2}simulator:\n((?: {4}.*\n)+)/m.exec(read('docker-compose.yml')) ?? [];
  expect(
    names.filter((name) => !new RegExp(`^ +${name}[:=]`, 'm').test(service + read('Dockerfile'))),
  ).toEqual([]);
});

it('docker-compose.yml gives the command line in the gateway the address of the simulator', () => {
  const [, service = ''] = /^ {2}gateway:\n((?: {4}.*\n)+)/m.exec(read('docker-compose.yml')) ?? [];
  expect(service).toMatch(/^ +TIDINGS_SIMULATOR_URL: http:\/\/simulator:4010$/m);
});

it('the Dockerfile gives the command line in the gateway the key and the port of the gateway', () => {
  const [, script = ''] =
    /^RUN printf '([^']*)' > \/usr\/local\/bin\/tidings /m.exec(read('Dockerfile')) ?? [];
  expect(script).toContain('TIDINGS_CHECKOUT_KEY="$API_KEY"');
  expect(script).toContain('TIDINGS_CHECKOUT_URL="http://127.0.0.1:${PORT:-3000}"');
});

it('docker-compose.yml lets webhooks reach no private network except the network of its own receivers and the networks that the operator names', () => {
  const [, value = ''] = /^ +WEBHOOK_ALLOW_NETWORKS: (.*)$/m.exec(read('docker-compose.yml')) ?? [];
  const filled = value
    .replace(/\$\{FRONT_PREFIX:-[^}]*\}/, '10.99.1')
    .replace(/\$\{WEBHOOK_ALLOW_NETWORKS:-([^}]*)\}/, '$1');
  expect(parseNetworks(filled).map(([address, bits]) => `${address.toString()}/${bits}`)).toEqual([
    '10.99.1.0/24',
  ]);
});

it('docker-compose.yml limits the log size of every service, because Docker sets no limit by default', () => {
  const [, safety = ''] = /^x-safety: &safety\n((?: .*\n)+)/m.exec(read('docker-compose.yml')) ?? [];
  expect(safety).toMatch(
    /^ {2}logging:\n {4}driver: local\n {4}options: \{ max-size: \d+m, max-file: '\d+' \}$/m,
  );
  const services =
    read('docker-compose.yml')
      .split(/^services:$/m)[1]
      ?.split(/^networks:$/m)[0] ?? '';
  const bodies = services.split(/^ {2}(?=[a-z]+:$)/m).slice(1);
  expect(bodies.length).toBeGreaterThan(5);
  for (const body of bodies) expect(body).toMatch(/^ {4}<<: \*(?:safety|product)$/m);
});

it('docker-compose.yml sets the number of workers to WORKERS, so that every `docker compose up` keeps this number', () => {
  const [, service = ''] = /^ {2}worker:\n((?: {4}.*\n)+)/m.exec(read('docker-compose.yml')) ?? [];
  expect(service).toMatch(/^ {4}scale: \$\{WORKERS:-1\}$/m);
});
