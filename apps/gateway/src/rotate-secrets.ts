import 'reflect-metadata';
import { ConfigurationError, logMessageOf } from '#platform';
import { rotateSecrets } from './rotation/rotate-secrets.js';

/** Runs `npm run rotate-secrets`. Exit codes: 0 for success, 1 for a failure, 78 for an invalid environment variable. */
async function main(): Promise<number> {
  try {
    return (await rotateSecrets({
      out: (line) => process.stdout.write(`${line}\n`),
      err: (line) => process.stderr.write(`${line}\n`),
    }))
      ? 0
      : 1;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) {
      process.stderr.write(
        `${logMessageOf(error)}. Secrets that were already rotated stay rotated. Fix the problem, then run npm run rotate-secrets again.\n`,
      );
      return 1;
    }
    for (const fault of error.faults) process.stderr.write(`${fault}\n`);
    return ConfigurationError.exitCode;
  }
}

process.exitCode = await main();
