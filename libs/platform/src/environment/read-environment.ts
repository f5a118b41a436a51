import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { ConfigurationError } from './configuration-error.js';

/**
 * Reads the environment once, at start. Unset and empty variables take the default of their class;
 * variables that the class does not name are left alone.
 *
 * @throws {ConfigurationError} with one fault a variable: its name, what is wrong, an example.
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
