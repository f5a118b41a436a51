import { expect, it } from '@jest/globals';
import { EVENT_TYPES } from '#events';
import { PROBLEMS } from '../../apps/gateway/src/problems/problem-catalog.js';
import { read } from './pages.js';

const GUIDE = read('docs/api-guide.md');

it('the API guide names every event type', () => {
  expect(EVENT_TYPES.filter((type) => !GUIDE.includes(`\`${type}\``))).toEqual([]);
});

it('the API guide has every problem code with its status', () => {
  const shown = [...GUIDE.matchAll(/^\| (`[a-z_`, ]+`) \| (\d{3}(?:, \d{3})*) \|/gm)].flatMap(
    ([, codes = '', statuses = '']) => {
      const each = statuses.split(', ').map(Number);
      return codes.split(', ').map((code, index) => [code.slice(1, -1), each[index] ?? each[0]] as const);
    },
  );
  const statuses = Object.entries(PROBLEMS).map(([code, { status }]) => [code, status] as const);
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(statuses));
});
