import 'reflect-metadata';
import { ConfigurationError, logWords } from '#platform';
import { rotateSecrets } from './rotation/rotate-secrets.js';

/** `npm run rotate-secrets`. Exit codes: 0, 1 where something could not be done, 78 for a wrong variable. */
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
      process.stderr.write(`${logWords(error)}. What is done stays done: run it again.\n`);
      return 1;
    }
    for (const fault of error.faults) process.stderr.write(`${fault}\n`);
    return ConfigurationError.exitCode;
  }
}

process.exitCode = await main();
