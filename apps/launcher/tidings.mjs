#!/usr/bin/env node
// The command line `tidings` in a checkout; `npx tidings` starts it. Builds the product first if there is no build
// yet.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { holderOf } from './src/lock.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'dist/cli.js');

if (!existsSync(program)) {
  const { SetupFault } = await import('./setup/fault.mjs');
  const { setUp } = await import('./setup/set-up.mjs');
  try {
    // Results go to standard output, so the set-up reports to standard error.
    await setUp(root, (line) => {
      console.error(line);
    });
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error;
    console.error(error.message);
    process.exit(error.exitCode);
  }
}
useInstallationOfCheckout();
await import(pathToFileURL(program).href);

/** Lets commands reach the gateway and the simulator that `npm start` runs in this checkout, without a profile. */
function useInstallationOfCheckout() {
  try {
    /** @type {unknown} */
    const secrets = JSON.parse(readFileSync(join(root, '.data/secrets.json'), 'utf8'));
    if (typeof secrets !== 'object' || secrets === null || !('apiKey' in secrets)) return;
    process.env['TIDINGS_CHECKOUT_DATA'] = join(root, '.data');
    // Like `npm start`, prefers a given API key to the generated one.
    process.env['TIDINGS_CHECKOUT_KEY'] = process.env['API_KEY'] || String(secrets.apiKey);
    // The running `npm start` records the addresses of its gateway and its simulator in its lock.
    const running = holderOf(join(root, '.data/launcher.lock'));
    process.env['TIDINGS_CHECKOUT_URL'] = running?.note ?? localUrl('PORT', '3000');
    process.env['TIDINGS_CHECKOUT_SIMULATOR'] = running?.simulator ?? localUrl('SIMULATOR_PORT', '4010');
  } catch {
    // `npm start` has not run here.
  }
}

/**
 * Returns the address on this machine whose port a variable names.
 * @param {string} variable
 * @param {string} defaultPort
 */
function localUrl(variable, defaultPort) {
  return `http://127.0.0.1:${process.env[variable] || defaultPort}`;
}
