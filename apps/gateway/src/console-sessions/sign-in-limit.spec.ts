import { describe, expect, it } from '@jest/globals';
import { Problem } from '../problems/problem.js';
import { SignInLimit } from './sign-in-limit.js';

const fail = (): Promise<never> => Promise.reject(new Problem('unauthenticated', 'Invalid API key.'));
const codeOf = async (attempt: Promise<unknown>): Promise<string> =>
  await attempt.then(
    () => 'ok',
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

describe('the limit of failed sign-ins', () => {
  it('counts only sign-ins with an invalid API key; above the limit, a sign-in is rejected before the API key is checked', async () => {
    const limit = new SignInLimit(2);
    const succeed = (): Promise<string> => Promise.resolve('signed in');
    const breakDown = (): Promise<never> => Promise.reject(new Error('Redis is away'));
    for (let i = 0; i < 5; i++) expect(await limit.guard('192.0.2.1', succeed)).toBe('signed in');
    for (let i = 0; i < 5; i++) await expect(limit.guard('192.0.2.1', breakDown)).rejects.toThrow('away');
    expect(await codeOf(limit.guard('192.0.2.1', fail))).toBe('unauthenticated');
    expect(await codeOf(limit.guard('192.0.2.1', fail))).toBe('unauthenticated');
    let isCalled = false;
    const refused = limit.guard('192.0.2.1', () => Promise.resolve((isCalled = true)));
    expect([await codeOf(refused), isCalled]).toEqual(['rate_limited', false]);
    expect(await codeOf(limit.guard('192.0.2.2', fail))).toBe('unauthenticated');
  });

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1'],
    ['2001:db8::1', '2001:db8:0:0:5:6:7:8', '2001:db8:1::1'],
    ['::1', '::2', '1::1'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1', '::ffff:192.0.2.2'],
  ])('counts the addresses %s and %s as one client, and %s as a second client', async (one, same, other) => {
    const limit = new SignInLimit(1);
    expect(await codeOf(limit.guard(one, fail))).toBe('unauthenticated');
    expect(await codeOf(limit.guard(same, fail))).toBe('rate_limited');
    expect(await codeOf(limit.guard(other, fail))).toBe('unauthenticated');
  });

  it('remembers a limited number of addresses', async () => {
    const limit = new SignInLimit(1, 10);
    for (let i = 0; i < 100; i++) await codeOf(limit.guard(`192.0.2.${i}`, fail));
    expect(limit.size).toBe(10);
    expect(await codeOf(limit.guard('192.0.2.99', fail))).toBe('rate_limited');
    expect(await codeOf(limit.guard('192.0.2.0', fail))).toBe('unauthenticated');
  });
});
