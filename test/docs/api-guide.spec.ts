import { expect, it } from '@jest/globals';
import { EVENT_TYPES } from '#events';
import { PROBLEM_CODES } from '../../apps/gateway/src/problems/problem-catalog.js';
import { read } from './pages.js';

it.each<[string, readonly string[]]>([
  ['event type', EVENT_TYPES],
  ['problem code', PROBLEM_CODES],
])('the API guide names every %s', (_, names) => {
  const guide = read('docs/api-guide.md');
  expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
});
