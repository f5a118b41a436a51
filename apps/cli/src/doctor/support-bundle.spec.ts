import { expect, it } from '@jest/globals';
import { withoutCredentials } from './support-bundle.js';

it.each([
  ['redis://:pa@ss-word@redis:6379', 'redis://(set)@redis:6379'],
  ['redis-cluster://user:ss-word@a:6379,b:6379', 'redis-cluster://(set)@a:6379,b:6379'],
  ['redis://redis:6379?password=ss-word', 'redis://redis:6379?password=(set)'],
  ['redis://:pa/ss@redis:6379', 'redis://(set)@redis:6379'],
  ['rediss://:pa?s#s@redis:6379', 'rediss://(set)@redis:6379'],
  ['https://collector/v1?q=a@b', 'https://collector/v1?q=a@b'],
])('a support bundle contains a URL without its credentials: %s', (value, shown) => {
  expect(withoutCredentials(value)).toBe(shown);
});
