// Plain JavaScript, because the set-up uses this module before the compiler is installed. The build copies
// the file.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What the holder of a lock publishes for other processes. `note` is a text that a process shows if it cannot acquire
 * the lock. `simulator` is the address of the simulator that `npm start` runs.
 * @typedef {{ note?: string, simulator?: string }} Notes
 */

/**
 * The process that holds a lock. `started` distinguishes a process from a later one with the same id.
 * @typedef {{ pid: number, started: string, token: string } & Notes} Holder
 */

/**
 * A lock that this process holds.
 * @typedef {{ held: true, annotate: (notes: Notes) => void, release: () => void }} Lock
 */

/** @typedef {{ held: false, holder: Holder }} Refusal */

const RETRY_MS = 100;

/**
 * Acquires the lock, or returns its holder. A lock whose holder has ended is free.
 * @param {string} path
 * @returns {Lock | Refusal}
 */
export function takeLock(path) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const token = randomBytes(8).toString('hex');
  /** @type {Holder} */
  const self = { pid: process.pid, started: startOf(process.pid), token };
  // Write a temporary file and link it, so that the lock file never appears with incomplete content.
  const draft = `${path}.${token}`;
  writeFileSync(draft, JSON.stringify(self), { mode: 0o600 });
  try {
    for (;;) {
      if (
        attempt(() => {
          linkSync(draft, path);
        }, 'EEXIST')
      )
        break;
      const found = read(path);
      if (found !== undefined && isAlive(found)) return { held: false, holder: found };
      discard(path, found);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    held: true,
    annotate: (notes) => {
      writeFileSync(draft, JSON.stringify({ ...self, ...notes }), { mode: 0o600 });
      renameSync(draft, path);
    },
    release: () => {
      if (read(path)?.token === token) rmSync(path, { force: true });
    },
  };
}

/**
 * Acquires the lock. If another process holds the lock, waits until that process has released it.
 * @param {string} path
 * @param {{ deadlineMs: number, onWait?: (holder: Holder) => void }} options `onWait` is called once if the
 * lock is held
 * @returns {Promise<Lock>}
 * @throws {Error} after the deadline
 */
export async function waitForLock(path, { deadlineMs, onWait }) {
  const deadline = performance.now() + deadlineMs;
  for (let waited = false; ; waited = true) {
    const lock = takeLock(path);
    if (lock.held) return lock;
    if (performance.now() > deadline) {
      throw new Error(
        `Process ${lock.holder.pid} has held the lock ${path} for too long. Stop process ${lock.holder.pid} and try again.`,
      );
    }
    if (!waited) onWait?.(lock.holder);
    await sleep(RETRY_MS);
  }
}

/**
 * Returns the living process that holds the lock, or undefined.
 * @param {string} path
 * @returns {Holder | undefined}
 */
export function holderOf(path) {
  const found = read(path);
  return found !== undefined && isAlive(found) ? found : undefined;
}

/**
 * Removes the lock of a dead process. Renames the file first, so that only one of two concurrent processes
 * removes the lock. If another process acquired the lock in between, restores
 * that lock.
 * @param {string} path
 * @param {Holder | undefined} dead
 */
function discard(path, dead) {
  const aside = `${path}.${randomBytes(8).toString('hex')}`;
  if (
    !attempt(() => {
      renameSync(path, aside);
    }, 'ENOENT')
  )
    return;
  const moved = read(aside);
  if (moved?.token !== dead?.token)
    attempt(() => {
      linkSync(aside, path);
    }, 'EEXIST');
  rmSync(aside, { force: true });
}

/**
 * Reads a lock file.
 * @param {string} path
 * @returns {Holder | undefined} undefined if the file is missing or not a valid lock
 */
function read(path) {
  try {
    /** @type {unknown} */
    const found = JSON.parse(readFileSync(path, 'utf8'));
    return isHolder(found) ? found : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * @param {unknown} value
 * @returns {value is Holder}
 */
function isHolder(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    'pid' in value &&
    typeof value.pid === 'number' &&
    'started' in value &&
    typeof value.started === 'string' &&
    'token' in value &&
    typeof value.token === 'string'
  );
}

/**
 * Returns true if the holder's process still runs.
 * @param {Holder} holder
 */
function isAlive(holder) {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') return false;
  }
  const started = startOf(holder.pid);
  if (started === '' || holder.started === '' || started === holder.started) return true;
  // An earlier build stored the local time. This time is equal only if the time zone and the language are the same.
  return process.platform !== 'linux' && holder.started === startByPs(holder.pid, process.env);
}

/**
 * Returns the start time of a process as text, or empty text if unknown. Together with the process id it
 * identifies a process: ids are reused, in containers immediately.
 * @param {number} pid
 * @returns {string}
 */
function startOf(pid) {
  // `ps` writes the time in the time zone and the language of its environment, which change from shell to shell.
  if (process.platform !== 'linux') return startByPs(pid, { ...process.env, LC_ALL: 'C', TZ: 'UTC' });
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z') return 'ended';
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${rest[18]}`;
  } catch {
    return '';
  }
}

/**
 * Returns the start time of a process as `ps` writes it with these variables, or empty text if unknown.
 * @param {number} pid
 * @param {NodeJS.ProcessEnv} env
 */
function startByPs(pid, env) {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env }).trim();
  } catch {
    return '';
  }
}

/**
 * Runs the action. Returns false if the action failed with the expected error code.
 * @param {() => void} action
 * @param {string} code
 */
function attempt(action, code) {
  try {
    action();
    return true;
  } catch (error) {
    if (codeOf(error) === code) return false;
    throw error;
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
