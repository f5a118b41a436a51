// Entry point of `npm start`, `npm test`, `npm run test:long` and `npm run bench`: installs what is missing,
// builds, then runs.
// Plain JavaScript with Node's own modules only, because it installs the packages and runs the compiler.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { permissionFaultOf, SetupFault } from './setup/fault.mjs';
import { run } from './setup/run.mjs';
import { built, setUp } from './setup/set-up.mjs';
import { aptInstall, hasChromiumPackage, isRootWithApt, onPath } from './setup/system-packages.mjs';
import { holderOf } from './src/lock.mjs';

const OLDEST_NODE = [20, 19];
const USAGE_EXIT = 64;
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

const root = fileURLToPath(new URL('../..', import.meta.url));
/** @param {string} line */
const say = (line) => {
  console.log(line);
};

/**
 * The parts of `npm run test:long` in their order, each with the options of Jest. Tests that measure times run one at
 * a time, on an idle machine. Each of the other tests starts many processes, and mostly waits.
 * @type {[folders: string, ...options: string[]][]}
 */
const LONG_TESTS = [
  ['test/timing/', '--maxWorkers=1'],
  ['test/(chaos|fuzz)/', '--maxWorkers=2'],
  // A mutant must be found within a time limit, for which it needs a processor of its own.
  ['test/property/', '--maxWorkers=2'],
];

/** @type {Record<string, (args: string[]) => Promise<number>>} */
const COMMANDS = {
  start,
  test,
  'test:unit': (args) => testKind('unit', args),
  'test:redis': (args) => testKind('redis', args),
  'test:e2e': (args) => testKind('e2e', args),
  'test:long': testLong,
  bench,
};

/** @param {string[]} args */
async function start(args) {
  if (args.length > 0) {
    throw new SetupFault(
      `npm start takes no arguments (got ${args.join(' ')}); configure Tidings with environment variables: see docs/configuration.md`,
      USAGE_EXIT,
    );
  }
  const running = holderOf(join(root, '.data/launcher.lock'));
  if (running !== undefined) {
    throw new SetupFault(
      `Tidings is already running in this checkout: process ${running.pid}${running.note === undefined ? '' : `, ${running.note}`}`,
    );
  }
  await setUp(root, say, { redis: (process.env['REDIS_URL'] ?? '') === '' });
  /** @type {typeof import('./src/main.js')} */
  const { launch } = await import(built(root, 'apps/launcher/src/main.js'));
  return await launch({ root, environment: process.env });
}

/** @param {string[]} args */
async function test(args) {
  await setUp(root, say, { redis: true });
  await provideBrowser();
  return (await jest(args)).status;
}

/**
 * @param {'unit' | 'redis' | 'e2e'} kind
 * @param {string[]} args
 */
async function testKind(kind, args) {
  await setUp(root, say, { redis: kind !== 'unit', bundles: kind === 'e2e' });
  if (kind === 'e2e') await provideBrowser();
  return (await jest(args, { TIDINGS_TESTS: kind })).status;
}

/** @param {string[]} args */
async function testLong(args) {
  await setUp(root, say, { redis: true });
  let worst = 0;
  for (const [folders, ...options] of LONG_TESTS) {
    const { status, interrupted } = await jest(['--testPathPatterns', folders, ...options, ...args], {
      TIDINGS_LONG: '1',
    });
    worst = Math.max(worst, status);
    if (interrupted) break;
  }
  return worst;
}

/** @param {string[]} args */
async function bench(args) {
  const folder = 'test/bench';
  const all = readdirSync(join(root, folder)).filter((file) => file.endsWith('.bench.ts'));
  if (all.length === 0)
    throw new SetupFault(`No benchmarks found: ${folder} contains no *.bench.ts file.`, 1);
  const names = all.map((file) => file.replace(/\.bench\.ts$/, ''));
  const flags = args.filter((arg) => ['--check', '--json'].includes(arg));
  const chosen = args.filter((arg) => !flags.includes(arg));
  const unknown = chosen.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new SetupFault(
      `Unknown benchmark: ${unknown}. Available benchmarks: ${names.join(', ')}`,
      USAGE_EXIT,
    );
  const benches = all.filter((_, n) => chosen.length === 0 || chosen.includes(names[n] ?? ''));
  // Benchmarks are compiled like the product, so that they measure the code that runs in production.
  await setUp(root, say, { redis: true, alsoBuild: [folder, 'test/support'] });
  let worst = 0;
  for (const file of benches) {
    const script = join(root, 'dist', folder, file.replace(/\.ts$/, '.js'));
    const { status, interrupted } = await run(process.execPath, [script, ...flags], { cwd: root });
    worst = Math.max(worst, status);
    if (interrupted) break;
  }
  return worst;
}

/** Installs Chromium for the browser tests in CI. Elsewhere prints how to install it. */
async function provideBrowser() {
  if (BROWSERS.some(onPath)) return;
  const inCi = !['', '0', 'false'].includes(process.env['CI'] ?? '');
  if (inCi && isRootWithApt() && hasChromiumPackage()) await aptInstall('chromium', say);
  else
    say(
      'NO BROWSER: skipping the browser tests. To run the browser tests, install Chromium, for example: sudo apt-get install chromium',
    );
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [extra]
 */
async function jest(args, extra = {}) {
  const program = join(root, 'node_modules/jest/bin/jest.js');
  return await run(process.execPath, [program, ...args], {
    cwd: root,
    env: { ...process.env, ...extra },
  });
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new SetupFault(
      `Node.js ${OLDEST_NODE.join('.')} or newer is required; this is version ${process.versions.node}. See https://nodejs.org`,
    );
  }
}

try {
  const [command = '', ...args] = process.argv.slice(2);
  const action = COMMANDS[command];
  if (action === undefined)
    throw new SetupFault(`usage: setup.mjs ${Object.keys(COMMANDS).join('|')}`, USAGE_EXIT);
  checkNode();
  // Without process.exit(), Node.js removes the signal handlers before it ends: a repeated Ctrl-C at that moment
  // would change the exit status.
  process.exit(await action(args));
} catch (error) {
  const fault = error instanceof SetupFault ? error : permissionFaultOf(error);
  if (fault === undefined) throw error;
  console.error(fault.message);
  process.exitCode = fault.exitCode;
}
