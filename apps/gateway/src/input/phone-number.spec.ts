import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js';
import { isPossiblePhoneNumber } from './phone-number.js';

/** The rule without the shortcut. */
function isPossible(text: string): boolean {
  const parsed = parsePhoneNumberFromString(text);
  return parsed?.isPossible() === true && parsed.number === text;
}

it('the check for possible phone numbers has the same result as libphonenumber-js with the metadata of all countries', () => {
  const codes = [...new Set(getCountries().map((country) => getCountryCallingCode(country)))];
  const national = fc.stringMatching(/^\d{4,13}$/);
  const numbers = fc
    .tuple(fc.constantFrom(...codes, '999', '0'), national)
    .map(([code, rest]) => `+${code}${rest}`)
    .filter((text) => /^\+[1-9]\d{6,14}$/.test(text));
  const known = { true: 0, false: 0 };
  fc.assert(
    fc.property(numbers, (text) => {
      const expected = isPossible(text);
      known[`${expected}`] += 1;
      return isPossiblePhoneNumber(text) === expected;
    }),
    { numRuns: 20_000 },
  );
  expect(Math.min(known.true, known.false)).toBeGreaterThan(2_000);
});

it.each(['+14155550123', '+447911123456', '+4915112345678'])('the phone number %s is accepted', (text) => {
  expect(isPossiblePhoneNumber(text)).toBe(true);
});

it.each(['4155550123', '+1415555012', '+1 415 555 0123', '+99912345678', '+4407911123456', ''])(
  'the phone number "%s" is rejected',
  (text) => {
    expect(isPossiblePhoneNumber(text)).toBe(false);
  },
);
