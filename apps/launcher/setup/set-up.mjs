import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { waitForLock } from '../src/lock.mjs';
import { SetupFault } from './fault.mjs';
import { installPackages } from './packages.mjs';
import { installRedis } from './system-packages.mjs';

const LOCK_DEADLINE_MS = 20 * 60_000;

/**
 * Installs packages and builds, so that everything in `needs` can run. Only one process of a checkout does this at a
 * time.
 * @param {string} root the checkout
 * @param {(line: string) => void} say prints a line for the user
 * @param {{ redis?: boolean, bundles?: boolean, alsoBuild?: string[] }} [needs] `redis`: whether a Redis
 * server is needed, false by default; `bundles`: whether processes of the product are started, true by default;
 * `alsoBuild`: further folders to build
 * @throws {SetupFault} that says what the user can do
 */
export async function setUp(root, say, { redis = false, bundles = true, alsoBuild = [] } = {}) {
  const lock = await waitForLock(join(root, '.data/setup.lock'), {
    deadlineMs: LOCK_DEADLINE_MS,
    onWait: (holder) => {
      say(`Waiting for process ${holder.pid} to finish setting up this checkout …`);
    },
  });
  try {
    await installPackages(root, say);
    await buildAll(root, say, alsoBuild, bundles);
    if (redis) await provideRedis(root, say);
  } finally {
    lock.release();
  }
}

/**
 * @param {string} root
 * @param {(line: string) => void} say
 * @param {string[]} extra folders to build in addition to the projects
 * @param {boolean} bundles whether processes of the product are started
 */
async function buildAll(root, say, extra, bundles) {
  const { build, buildProduct, BuildError, productTarget } = await import('../build.mjs');
  const slow = setTimeout(() => {
    say('Building …');
  }, 1_000);
  try {
    await (bundles ? buildProduct(root, extra) : build(root, productTarget(root, extra)));
  } catch (error) {
    throw error instanceof BuildError ? new SetupFault(error.message, 1) : error;
  } finally {
    clearTimeout(slow);
  }
}

/**
 * @param {string} root
 * @param {(line: string) => void} say
 */
async function provideRedis(root, say) {
  /** @type {typeof import('../../../libs/embedded-redis/src/find-redis-server.js')} */
  const { findRedisServer } = await import(built(root, 'libs/embedded-redis/src/find-redis-server.js'));
  let search = await findRedisServer();
  if (!search.found && search.missing) {
    await installRedis(say);
    search = await findRedisServer();
  }
  if (!search.found) {
    throw new SetupFault(
      `Redis: ${search.reason}; install Redis 7.0 or newer (available in Debian 12, Ubuntu 24.04 and Homebrew), or set REDIS_URL`,
    );
  }
}

/**
 * Returns the address of a built module, for `import()`.
 * @param {string} root
 * @param {string} file
 */
export function built(root, file) {
  return pathToFileURL(join(root, 'dist', file)).href;
}
