import { expect, it } from '@jest/globals';
import { renderConfigurationDocument } from '../../libs/platform/src/environment/configuration-page.js';
import { read } from './pages.js';

it('docs/configuration.md is identical to the output of npm run docs:configuration', () => {
  expect(read('docs/configuration.md')).toBe(renderConfigurationDocument());
});

it('docs/configuration.md describes the purpose and the allowed values of every variable', () => {
  const rows = renderConfigurationDocument()
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  expect(rows.length).toBeGreaterThan(40);
  for (const row of rows) expect(row.split(' | ').every((cell) => !/^\|?\s*\|?$/.test(cell))).toBe(true);
});

it('docker-compose.yml or the Dockerfile passes every variable on or sets it', () => {
  const names = [...renderConfigurationDocument().matchAll(/^\| `([A-Z\d_]+)`/gm)].map(
    ([, name = '']) => name,
  );
  expect(names.length).toBeGreaterThan(40);
  const files = read('docker-compose.yml') + read('Dockerfile');
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(files))).toEqual([]);
});
