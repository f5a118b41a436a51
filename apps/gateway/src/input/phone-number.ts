import {
  type CountryCode,
  Metadata,
  type MetadataJson,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/core';
import allCountries from 'libphonenumber-js/min/metadata';

/** Form of a phone number in E.164, without a check of the calling code and the length. */
export const E164 = /^\+[1-9]\d{6,14}$/;

const METADATA = withFewCountries(allCountries);

/**
 * True for a phone number in E.164 form whose calling code exists and whose length is possible there. Nothing else is
 * checked, because any list of assigned numbers is soon out of date.
 */
export function isPossiblePhoneNumber(text: string): boolean {
  if (!E164.test(text)) return false;
  const parsed = parsePhoneNumberFromString(text, METADATA);
  return parsed?.isPossible() === true && parsed.number === text;
}

/**
 * Leaves only one country to calling codes whose countries have the same possible lengths. The country of a number is
 * not asked for, and to find it among the 25 countries of +1 takes longer than all other validation of a request.
 */
function withFewCountries(metadata: MetadataJson): MetadataJson {
  const codes = Object.entries(metadata.country_calling_codes).map(([code, countries]) => [
    code,
    haveSameLengths(metadata, countries) ? countries.slice(0, 1) : countries,
  ]);
  return {
    ...metadata,
    country_calling_codes: Object.fromEntries(codes) as MetadataJson['country_calling_codes'],
  };
}

function haveSameLengths(metadata: MetadataJson, countries: readonly CountryCode[]): boolean {
  const lengths = countries.map((country) => {
    const plan = new Metadata(metadata);
    plan.selectNumberingPlan(country);
    return plan.numberingPlan?.possibleLengths().join() ?? '';
  });
  return new Set(lengths).size === 1;
}
