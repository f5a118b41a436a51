import { isPhoneNumber } from './checks.js';
import { InvalidInput } from './input-errors.js';
import type { Settings } from './settings.js';
import { DEFAULT_SETTINGS, mergeSettings } from './settings.js';
import { messageOf } from './error-properties.js';

/** Configuration of the simulator, read from environment variables. */
export interface Environment {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
  readonly stateFile: string | null;
  readonly seed: number;
  /** Only the settings that were given. */
  readonly settings: Partial<Settings>;
  readonly phoneNumber: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Reads the environment. `faults` contains one line per invalid value: the name, the problem, an example. */
export function readEnvironment(
  variables: Variables,
): { readonly environment: Environment } | { readonly faults: readonly string[] } {
  const faults: string[] = [];
  const read = <T>(name: string, fallback: T, example: string, parse: (value: string) => T): T => {
    const value = variables[name];
    if (value === undefined || value === '') return fallback;
    try {
      return parse(value);
    } catch (error) {
      faults.push(`${name} ${messageOf(error)}; for example ${name}=${example}`);
      return fallback;
    }
  };
  const environment: Environment = {
    host: read('SIMULATOR_HOST', '127.0.0.1', '127.0.0.1', oneWord),
    port: read('SIMULATOR_PORT', 4010, '4010', (value) => wholeNumber(value, 65_535)),
    apiKey: read('SIMULATOR_API_KEY', 'simulator-key', 'simulator-key', oneWord),
    stateFile: read<string | null>('SIMULATOR_STATE_FILE', null, '.data/simulator.json', fileName),
    seed: read('SIMULATOR_SEED', 1, '42', (value) => wholeNumber(value, 4_294_967_295)),
    settings: read<Partial<Settings>>('SIMULATOR_SETTINGS', {}, `'{"sendVisibleDelayMs":100}'`, settingsOf),
    phoneNumber: read('SIMULATOR_PHONE_NUMBER', '+15550000000', '+15550000000', e164),
  };
  return faults.length > 0 ? { faults } : { environment };
}

function oneWord(value: string): string {
  // Must be valid in an HTTP header (API key) and as a host name.
  if (!/^[\x21-\x7e]{1,256}$/.test(value))
    throw new Error('must be 1 to 256 visible ASCII characters without spaces');
  return value;
}

function fileName(value: string): string {
  if (value.includes('\0') || value.endsWith('/')) throw new Error('must be a file name');
  return value;
}

function wholeNumber(value: string, max: number): number {
  const number = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= max))
    throw new Error(`must be a whole number from 0 to ${max}, not "${value.slice(0, 40)}"`);
  return number;
}

function e164(value: string): string {
  if (!isPhoneNumber(value)) throw new Error('must be a phone number in E.164 format');
  return value;
}

function settingsOf(value: string): Partial<Settings> {
  let patch: unknown;
  try {
    patch = JSON.parse(value);
  } catch (error) {
    throw new Error('must be a JSON object of settings', { cause: error });
  }
  try {
    const whole = mergeSettings(DEFAULT_SETTINGS, patch);
    const given = new Set(Object.keys(patch as object));
    return Object.fromEntries(Object.entries(whole).filter(([name]) => given.has(name)));
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new Error(
      `has an invalid setting: ${error.field === '' ? 'the value' : error.field} ${error.problem}`,
      {
        cause: error,
      },
    );
  }
}
