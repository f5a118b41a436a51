import {
  type CountryCode,
  Metadata,
  type MetadataJson,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/core';
import allCountries from 'libphonenumber-js/min/metadata';

/** Form of a phone number in E.164, without a check of the calling code and the length. */
export const E164 = /^\+[1-9]\d{6,14}$/;

/** The metadata with a single country for each calling code. */
const SINGLE_COUNTRIES = withSingleCountries(allCountries);

/** Lengths of national numbers that are possible in every country of a calling code. */
const COMMON_LENGTHS = new Map(
  Object.entries(allCountries.country_calling_codes).map(([code, countries]) => [
    code,
    commonLengthsOf(countries),
  ]),
);

/**
 * True for a phone number in E.164 form whose calling code exists and whose length is possible there. Nothing else is
 * checked, because any list of assigned numbers is soon out of date.
 *
 * The country matters only if the possible lengths of its numbers differ from those of the other countries with the
 * same calling code. Finding the country among the 25 countries of +1 takes longer than all other validation of a
 * request.
 */
export function isPossiblePhoneNumber(text: string): boolean {
  if (!E164.test(text)) return false;
  const parsed = parsePhoneNumberFromString(text, SINGLE_COUNTRIES);
  if (parsed?.number !== text) return false;
  const { countryCallingCode, nationalNumber } = parsed;
  if (COMMON_LENGTHS.get(countryCallingCode)?.has(nationalNumber.length) === true) return true;
  return parsePhoneNumberFromString(text, allCountries)?.isPossible() === true;
}

function withSingleCountries(metadata: MetadataJson): MetadataJson {
  const codes = Object.entries(metadata.country_calling_codes).map(([code, countries]) => [
    code,
    countries.slice(0, 1),
  ]);
  return {
    ...metadata,
    country_calling_codes: Object.fromEntries(codes) as MetadataJson['country_calling_codes'],
  };
}

function commonLengthsOf(countries: readonly CountryCode[]): Set<number> {
  const [first = [], ...others] = countries.map((country) => {
    const plan = new Metadata(allCountries);
    plan.selectNumberingPlan(country);
    return plan.numberingPlan?.possibleLengths() ?? [];
  });
  return new Set(first.filter((length) => others.every((lengths) => lengths.includes(length))));
}
