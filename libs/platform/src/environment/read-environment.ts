import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { ConfigurationError } from './configuration-error.js';

/**
 * Reads and validates the environment variables that a class declares. Unset and empty variables get the
 * default value from the class. Variables that the class does not declare are ignored.
 *
 * @throws {ConfigurationError} with one fault per invalid variable: its name, the reason and an example
 */
export function readEnvironment<T extends object>(
  shape: new () => T,
  source: Readonly<Record<string, string | undefined>> = process.env,
): T {
  const given = Object.fromEntries(
    Object.entries(source).filter(([, text]) => text !== undefined && text !== ''),
  );
  const environment = plainToInstance(shape, given, { exposeDefaultValues: true });
  const faults = validateSync(environment, { forbidUnknownValues: false }).flatMap((fault) =>
    Object.values(fault.constraints ?? {}),
  );
  if (faults.length > 0) throw new ConfigurationError(faults);
  return environment;
}
