// Installs a package of the operating system. Installs directly as root, asks first on a terminal, and
// otherwise installs nothing.
import { once } from 'node:events';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { SetupFault } from './fault.mjs';
import { run } from './run.mjs';

const DEADLINE_MS = 15 * 60_000;
const QUESTION_MS = 5 * 60_000;

/**
 * Shell script that root runs with the package name as $1. Debian starts a package's service after its
 * installation. A temporary policy file prevents that, and with systemd the service is disabled for the next
 * boot.
 */
const APT_SCRIPT = `
set -eu
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ] || grep -qs 'set-up of Tidings' "$policy"; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  printf '#!/bin/sh\\n# Temporary file of the set-up of Tidings: a newly installed service must not start.\\nexit 101\\n' > "$policy"
  chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 "$1"
if [ -d /run/systemd/system ] && [ -e "/usr/lib/systemd/system/$1.service" ]; then systemctl disable --quiet "$1" || true; fi
`;

/** Returns true if this process can install packages with apt-get without asking the user. */
export function isRootWithApt() {
  return process.getuid?.() === 0 && onPath('apt-get') && isDebianOrUbuntu();
}

/**
 * Installs a package as root with apt-get, and says so.
 * @param {string} name
 * @param {(line: string) => void} say
 */
export async function aptInstall(name, say) {
  say(`Installing the package ${name} (apt-get install ${name}) …`);
  await install('sh', ['-c', APT_SCRIPT, 'sh', name], name);
}

/**
 * Installs Redis with apt-get or Homebrew.
 * @param {(line: string) => void} say
 * @throws {SetupFault} if the installation is not possible; the message contains the command to run
 */
export async function installRedis(say) {
  if (isRootWithApt()) {
    await aptInstall('redis-server', say);
    return;
  }
  const packageManager =
    onPath('apt-get') && isDebianOrUbuntu() ? 'apt' : onPath('brew') ? 'brew' : undefined;
  const command =
    packageManager === 'apt'
      ? 'sudo apt-get install redis-server'
      : packageManager === 'brew'
        ? 'brew install redis'
        : undefined;
  const advice =
    command === undefined
      ? 'install Redis 7.0 or newer, or set REDIS_URL'
      : `install Redis with "${command}", or set REDIS_URL`;
  const canRun = packageManager === 'brew' || (packageManager === 'apt' && onPath('sudo'));
  if (
    command === undefined ||
    !canRun ||
    !(await confirm(`Redis is missing. Run "${command}" now? [y/N] `))
  ) {
    throw new SetupFault(`No Redis server on this machine: ${advice}`);
  }
  if (packageManager === 'brew') await install('brew', ['install', 'redis'], 'redis');
  else await install('sudo', ['sh', '-c', APT_SCRIPT, 'sh', 'redis-server'], 'redis-server', false);
}

/** Returns true if the package `chromium` contains a browser. On Ubuntu it only refers to a snap. */
export function hasChromiumPackage() {
  return /^ID="?debian"?$/m.test(osRelease());
}

/**
 * Returns true if the PATH contains a program with this name.
 * @param {string} name
 */
export function onPath(name) {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .some((folder) => {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

function isDebianOrUbuntu() {
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(osRelease());
}

function osRelease() {
  try {
    return readFileSync('/etc/os-release', 'utf8');
  } catch {
    return '';
  }
}

/**
 * Runs an installation command.
 * @param {string} program
 * @param {string[]} args
 * @param {string} name
 * @param {boolean} [quiet]
 */
async function install(program, args, name, quiet = true) {
  const { status, output, interrupted } = await run(program, args, { deadlineMs: DEADLINE_MS, quiet });
  if (interrupted) throw new SetupFault('Stopped.', 130);
  if (status !== 0)
    throw new SetupFault(`${output}The installation of ${name} failed (exit status ${status}).`);
}

/** @param {string} question */
async function confirm(question) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await Promise.race([
      terminal.question(question, { signal: AbortSignal.timeout(QUESTION_MS) }),
      // If the input ends, the question itself never settles.
      once(terminal, 'close').then(() => ''),
    ]);
    return /^\s*y(es)?\s*$/i.test(answer);
  } catch {
    // The question timed out, or the user pressed Ctrl-C or Ctrl-D.
    return false;
  } finally {
    terminal.close();
  }
}
