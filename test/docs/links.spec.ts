import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { anchorsOf, filesOfTheRepository, localLinks, read, ROOT, targetOf } from './pages.js';

const FILES = filesOfTheRepository();
const PAGES = FILES.filter((file) => file.endsWith('.md'));

/** Why a link of a page leads nowhere, or undefined. */
function faultOf(page: string, link: string): string | undefined {
  const { file, anchor } = targetOf(page, link);
  if (!existsSync(join(ROOT, file))) return `${link}: no such file`;
  if (anchor === undefined || !file.endsWith('.md')) return undefined;
  return anchorsOf(read(file)).has(anchor) ? undefined : `${link}: no such heading`;
}

describe.each(PAGES)('%s', (page) => {
  it('contains no broken link to a file or heading of the repository', () => {
    const faults = localLinks(read(page)).map((link) => faultOf(page, link));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });
});

it('README.md links to every page of docs/, and has at most 10 KB', () => {
  const readme = read('README.md');
  const linked = new Set(localLinks(readme).map((link) => targetOf('README.md', link).file));
  const pages = PAGES.filter((page) => /^docs\/[^/]+\.md$/.test(page));
  expect(pages.filter((page) => !linked.has(page))).toEqual([]);
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(10_240);
});

it('docs/architecture.md names only files that exist', () => {
  const names = new Set(FILES.map((file) => file.split('/').at(-1)));
  const mentioned = [...read('docs/architecture.md').matchAll(/`([\w./*-]+\.(?:ts|mjs|js|lua|json|yml))`/g)]
    .map(([, name = '']) => name)
    .filter((name) => !name.includes('*'));
  expect(mentioned.length).toBeGreaterThan(100);
  expect(mentioned.filter((name) => !(name.includes('/') ? FILES.includes(name) : names.has(name)))).toEqual(
    [],
  );
});
