// Installs a package of the operating system: by itself as root, after a question on a terminal, else not at all.
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { SetupFault } from './fault.mjs';
import { run } from './run.mjs';

const DEADLINE_MS = 15 * 60_000;
const QUESTION_MS = 5 * 60_000;

/**
 * Run with sh as root; $1 is the package. Debian starts a package's service when it is installed: a policy that says
 * no stands there meanwhile, and where systemd runs, the service is kept from starting at the next boot.
 */
const APT_SCRIPT = `
set -eu
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ] || grep -qs 'set-up of Tidings' "$policy"; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  printf '#!/bin/sh\\n# For a moment, by the set-up of Tidings: a service that it installs is not to be started.\\nexit 101\\n' > "$policy"
  chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 "$1"
if [ -d /run/systemd/system ] && [ -e "/usr/lib/systemd/system/$1.service" ]; then systemctl disable --quiet "$1" || true; fi
`;

/** Whether apt-get would be the way to install something here, without asking anybody. */
export function isRootWithApt() {
  return process.getuid?.() === 0 && onPath('apt-get') && isDebianOrUbuntu();
}

/**
 * Installs the package as root through apt, saying so.
 * @param {string} name
 * @param {(line: string) => void} say
 */
export async function aptInstall(name, say) {
  say(`Installing the package ${name} (apt-get install ${name}) …`);
  await install('sh', ['-c', APT_SCRIPT, 'sh', name], name);
}

/**
 * Installs Redis by whatever way there is.
 * @param {(line: string) => void} say
 * @throws {SetupFault} with the command to run, where it may not or cannot
 */
export async function installRedis(say) {
  if (isRootWithApt()) {
    await aptInstall('redis-server', say);
    return;
  }
  const way = onPath('apt-get') && isDebianOrUbuntu() ? 'apt' : onPath('brew') ? 'brew' : undefined;
  const command =
    way === 'apt' ? 'sudo apt-get install redis-server' : way === 'brew' ? 'brew install redis' : undefined;
  const advice =
    command === undefined
      ? 'install Redis 7.0 or newer, or set REDIS_URL'
      : `run: ${command} (or set REDIS_URL)`;
  const canRun = way === 'brew' || (way === 'apt' && onPath('sudo'));
  if (command === undefined || !canRun || !(await agrees(`Redis is missing. Run "${command}" now? [y/N] `))) {
    throw new SetupFault(`No Redis server on this machine: ${advice}`);
  }
  if (way === 'brew') await install('brew', ['install', 'redis'], 'redis');
  else await install('sudo', ['sh', '-c', APT_SCRIPT, 'sh', 'redis-server'], 'redis-server', false);
}

/** Whether the package `chromium` is a browser here: on Ubuntu it only leads to a snap. */
export function hasChromiumPackage() {
  return /^ID="?debian"?$/m.test(osRelease());
}

/**
 * Whether a program of this name is on the PATH.
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
 * @param {string} program
 * @param {string[]} args
 * @param {string} name
 * @param {boolean} [quiet]
 */
async function install(program, args, name, quiet = true) {
  const { status, output, interrupted } = await run(program, args, { deadlineMs: DEADLINE_MS, quiet });
  if (interrupted) throw new SetupFault('Stopped.', 130);
  if (status !== 0) throw new SetupFault(`${output}Installing ${name} failed (exit status ${status}).`);
}

/** @param {string} question */
async function agrees(question) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(question, { signal: AbortSignal.timeout(QUESTION_MS) });
    return /^\s*y(es)?\s*$/i.test(answer);
  } catch {
    // Nobody answered, or the input ended.
    return false;
  } finally {
    terminal.close();
  }
}
