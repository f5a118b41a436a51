import { expect, it } from '@jest/globals';
import { filesOfTheRepository, read } from './pages.js';

const GLOSSARY = 'docs/glossary.md';
const PAGES = filesOfTheRepository().filter((file) => file.endsWith('.md') && file !== GLOSSARY);

/** The phrases in quotes of the glossary's last table: those that no document may use in any sense. */
function unusedPhrases(): string[] {
  const [, table = ''] = read(GLOSSARY).split('## Words we do not use');
  return table
    .split('\n')
    .map((row) => row.split('|')[1] ?? '')
    .filter((cell) => !cell.includes(', for'))
    .flatMap((cell) => [...cell.matchAll(/"([^"]+)"/g)].map(([, phrase = '']) => phrase));
}

it('no document except the glossary uses a phrase that “Words we do not use” of the glossary excludes in every sense', () => {
  const phrases = unusedPhrases();
  expect(phrases.length).toBeGreaterThan(10);
  const found = PAGES.flatMap((page) => {
    const words = read(page).replaceAll(/`[^`]*`/g, '');
    return phrases
      .filter((phrase) => new RegExp(`\\b${phrase}\\b`, 'i').test(words))
      .map((phrase) => `${page}: ${phrase}`);
  });
  expect(found).toEqual([]);
});

it('the glossary is in alphabetical order and defines each term once', () => {
  const [terms = ''] = read(GLOSSARY).split('## Words we do not use');
  const listed = [...terms.matchAll(/^\| ([^|]+) \| /gm)].map(([, term = '']) => term).slice(2);
  expect(listed.length).toBeGreaterThan(60);
  expect(listed).toEqual([...new Set(listed)].sort((a, b) => a.localeCompare(b, 'en')));
});
