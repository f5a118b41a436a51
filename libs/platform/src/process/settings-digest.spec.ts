import { describe, expect, it } from '@jest/globals';
import { createReadiness } from './readiness.js';
import { COMPARED_VARIABLES, digestSettings } from './settings-digest.js';

const SETTINGS = {
  ENCRYPTION_KEY: Buffer.alloc(32, 1),
  UPSTREAM_BASE_URL: 'https://messages.example.com/v1',
  UPSTREAM_API_KEY: 'key',
  UPSTREAM_REQUESTS_PER_SECOND: 10,
};

const MIXED = { code: 'settings_mixed', count: 2, description: 'a mix' } as const;

describe('the digest of the settings of a process', () => {
  it('is the same for the same settings, and consists of 12 letters, digits, dashes or underscores', () => {
    const digest = digestSettings(SETTINGS);
    expect(digest).toMatch(/^[\w-]{12}$/);
    expect(digestSettings({ ...SETTINGS })).toBe(digest);
  });

  it('equals the digest that earlier builds announce, so that processes of two builds report no mixed settings', () => {
    expect(digestSettings(SETTINGS)).toBe('skNl5iNRrfUM');
  });

  it('covers the variables that the remedy of settings_mixed names', () => {
    const [, names = ''] = /the same (.+)$/.exec(createReadiness('degraded', [MIXED]).reasons[0] ?? '') ?? [];
    expect(names.split(/, | and /).sort()).toEqual(['ENCRYPTION_KEY', ...COMPARED_VARIABLES].sort());
  });

  it.each([
    { UPSTREAM_BASE_URL: 'https://messages.example.com/v2' },
    { UPSTREAM_API_KEY: 'other' },
    { UPSTREAM_REQUESTS_PER_SECOND: 11 },
    // The digest depends on the encryption key, so that nobody without this key can find out an API key by trial.
    { ENCRYPTION_KEY: Buffer.alloc(32, 2) },
  ])('differs if a setting differs: %j', (change) => {
    expect(digestSettings({ ...SETTINGS, ...change })).not.toBe(digestSettings(SETTINGS));
  });
});
