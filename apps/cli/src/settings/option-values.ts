import { InvalidArgumentError } from 'commander';

/** Returns a parser of an option whose value is a whole number. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
}

/** Returns a parser of an option whose value is a number, which may be a fraction. */
export function numberFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
    return value;
  };
}

/** Parses an option whose value is a number above 0, for example a rate. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/** Parses an option whose value is a JSON object, for example of metadata. */
export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Not JSON, as the error below says.
  }
  throw new InvalidArgumentError('It must be a JSON object, for example {"order": 17}.');
}

/** Adds a value to those of a repeatable option; a value may be a list with commas. */
export function collect(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), ...text.split(',').map((each) => each.trim())].filter((each) => each !== '');
}

/** Adds `Name: value` to the headers of a repeatable option. */
export function header(
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const colon = text.indexOf(':');
  if (colon < 1)
    throw new InvalidArgumentError('It must be a name and a value, for example "X-Team: billing".');
  return { ...before, [text.slice(0, colon).trim()]: text.slice(colon + 1).trim() };
}

/** Parses an option that is either on or off. */
export function onOrOff(text: string): boolean {
  if (text === 'on') return true;
  if (text === 'off') return false;
  throw new InvalidArgumentError('It must be on or off.');
}

/** Default for the option `--limit` of lists. */
export const DEFAULT_LIMIT = 20;
/** Maximum of the option `--limit` of lists. */
export const MAX_LIMIT = 100_000;
