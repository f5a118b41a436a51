import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '#platform';
import { announcement, greeting } from './greeting.js';
import { Installation } from './installation.js';
import { type Lock, takeLock } from './lock.mjs';
import { type Environment, isSet, placesOf } from './plan.js';
import { keepSecrets } from './secrets.js';
import { StartFailure } from './service.js';
import { listenForWishes } from './signals.js';

const SLOW_MS = 1_000;

export interface LaunchOptions {
  /** The checkout. */
  root: string;
  environment: Environment;
}

/**
 * Runs everything on this machine until it is told to stop. Resolves with the exit status: 0 after Ctrl-C,
 * 78 for what somebody has to put right first, 1 for anything else.
 */
export async function launch({ root, environment }: LaunchOptions): Promise<number> {
  const places = placesOf(root);
  mkdirSync(places.data, { recursive: true, mode: 0o700 });
  const lock = takeLock(join(places.data, 'launcher.lock'));
  if (!lock.held) {
    const { pid, note } = lock.holder;
    complain(
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
  const places = placesOf(root);
  const secrets = keepSecrets(join(places.data, 'secrets.json'));
  const wishes = listenForWishes(isSet(environment, 'npm_lifecycle_event'));
  let giveUp: (error: unknown) => void = () => undefined;
  const end = new Promise<unknown>((resolve) => {
    giveUp = resolve;
    wishes.stop.addEventListener('abort', () => {
      resolve(undefined);
    });
  });
  const { hurry } = wishes;
  const installation = new Installation({ places, secrets, environment, say, giveUp, hurry });
  const slow = setTimeout(() => {
    say(announcement(environment));
  }, SLOW_MS);
  void installation
    .start()
    .then((addresses) => {
      if (wishes.stop.aborted) return;
      lock.annotate(addresses.gateway);
      say(greeting(addresses, isSet(environment, 'API_KEY') ? undefined : secrets.apiKey));
    })
    .catch(giveUp)
    .finally(() => {
      clearTimeout(slow);
    });
  try {
    const error = await end;
    if (error === undefined) say('Stopping …');
    await installation.stop();
    if (error !== undefined) return report(error);
    say('Stopped.');
    return 0;
  } finally {
    clearTimeout(slow);
    wishes.dispose();
  }
}

function report(error: unknown): number {
  if (error instanceof ConfigurationError) {
    for (const fault of error.faults) complain(fault);
    return ConfigurationError.exitCode;
  }
  if (error instanceof StartFailure) complain(`${error.message}; what it said is above and in .data/logs`);
  else complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 1;
}

function say(line: string): void {
  console.log(line);
}

function complain(line: string): void {
  console.error(line);
}
