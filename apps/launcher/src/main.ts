import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '#platform';
import { announcement, greeting } from './greeting.js';
import { Installation } from './installation.js';
import { type Lock, takeLock } from './lock.mjs';
import { type Environment, isSet, pathsOf } from './plan.js';
import { loadSecrets } from './secrets.js';
import { StartFailure } from './service.js';
import { listenForStop } from './signals.js';

/** If the start takes longer, a message shows what is being started. In milliseconds. */
const SLOW_MS = 1_000;

/** Options of a launch. */
export interface LaunchOptions {
  /** Root folder of the checkout. */
  root: string;
  environment: Environment;
}

/**
 * Runs all processes on this machine until the user stops them. Resolves with the exit status: 0 after
 * Ctrl-C, 78 for a problem that the user has to solve, 1 for any other error.
 */
export async function launch({ root, environment }: LaunchOptions): Promise<number> {
  const paths = pathsOf(root);
  mkdirSync(paths.data, { recursive: true, mode: 0o700 });
  const lock = takeLock(join(paths.data, 'launcher.lock'));
  if (!lock.held) {
    const { pid, note } = lock.holder;
    printError(
      `Tidings is already running in this checkout: process ${pid}${note === undefined ? '' : `, ${note}`}`,
    );
    return ConfigurationError.exitCode;
  }
  try {
    return await runUntilStopped(root, environment, lock);
  } catch (error) {
    return report(error);
  } finally {
    lock.release();
  }
}

async function runUntilStopped(root: string, environment: Environment, lock: Lock): Promise<number> {
  const paths = pathsOf(root);
  const secrets = loadSecrets(join(paths.data, 'secrets.json'));
  const stopSignals = listenForStop(isSet(environment, 'npm_lifecycle_event'));
  let onFailure: (error: unknown) => void = () => undefined;
  const end = new Promise<unknown>((resolve) => {
    onFailure = resolve;
    stopSignals.stop.addEventListener('abort', () => {
      resolve(undefined);
    });
  });
  const { forceStop } = stopSignals;
  const installation = new Installation({ paths, secrets, environment, print, onFailure, forceStop });
  const slow = setTimeout(() => {
    print(announcement(environment));
  }, SLOW_MS);
  void installation
    .start()
    .then((addresses) => {
      if (stopSignals.stop.aborted) return;
      const { gateway, simulator } = addresses;
      lock.annotate({ note: gateway, ...(simulator === undefined ? {} : { simulator }) });
      print(greeting(addresses, isSet(environment, 'API_KEY') ? undefined : secrets.apiKey));
    })
    .catch(onFailure)
    .finally(() => {
      clearTimeout(slow);
    });
  try {
    const error = await end;
    if (error === undefined) print('Stopping …');
    await installation.stop();
    if (error !== undefined) return report(error);
    print('Stopped.');
    return 0;
  } finally {
    clearTimeout(slow);
    stopSignals.dispose();
  }
}

function report(error: unknown): number {
  if (error instanceof ConfigurationError) {
    for (const fault of error.faults) printError(fault);
    return ConfigurationError.exitCode;
  }
  if (error instanceof StartFailure)
    printError(`${error.message}; the output of the process is above and in .data/logs`);
  else printError(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 1;
}

function print(line: string): void {
  console.log(line);
}

function printError(line: string): void {
  console.error(line);
}
