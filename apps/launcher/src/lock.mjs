// Plain JavaScript, since the set-up uses it before there is a compiler; the build copies it beside the rest.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Who holds a lock. `started` tells a process from a later one with the same id; `note` is for whoever is turned away.
 * @typedef {{ pid: number, started: string, token: string, note?: string }} Holder
 */

/**
 * A lock that this process holds.
 * @typedef {{ held: true, annotate: (note: string) => void, release: () => void }} Lock
 */

/** @typedef {{ held: false, holder: Holder }} Refusal */

const RETRY_MS = 100;

/**
 * Takes the lock, or says who has it. A lock whose process has ended is taken over.
 * @param {string} path
 * @returns {Lock | Refusal}
 */
export function takeLock(path) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const token = randomBytes(8).toString('hex');
  /** @type {Holder} */
  const self = { pid: process.pid, started: startOf(process.pid), token };
  // Written aside and linked: the file appears with its whole content, or somebody else's is there.
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
    annotate: (note) => {
      writeFileSync(draft, JSON.stringify({ ...self, note }), { mode: 0o600 });
      renameSync(draft, path);
    },
    release: () => {
      if (read(path)?.token === token) rmSync(path, { force: true });
    },
  };
}

/**
 * Takes the lock, waiting for the holder to let go.
 * @param {string} path
 * @param {{ deadlineMs: number, onWait?: (holder: Holder) => void }} options
 * @returns {Promise<Lock>}
 */
export async function waitForLock(path, { deadlineMs, onWait }) {
  const deadline = performance.now() + deadlineMs;
  for (let told = false; ; told = true) {
    const lock = takeLock(path);
    if (lock.held) return lock;
    if (performance.now() > deadline) {
      throw new Error(`Process ${lock.holder.pid} has held ${path} for too long; end it and try again.`);
    }
    if (!told) onWait?.(lock.holder);
    await sleep(RETRY_MS);
  }
}

/**
 * The living process that holds the lock, if there is one.
 * @param {string} path
 * @returns {Holder | undefined}
 */
export function holderOf(path) {
  const found = read(path);
  return found !== undefined && isAlive(found) ? found : undefined;
}

/**
 * Removes a dead process's lock. Moved aside first, so that of two who find it dead one removes it,
 * and a lock that was taken in between is put back.
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
 * @param {string} path
 * @returns {Holder | undefined} undefined for a file that is missing or no lock
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

/** @param {Holder} holder */
function isAlive(holder) {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') return false;
  }
  const started = startOf(holder.pid);
  return started === '' || holder.started === '' || started === holder.started;
}

/**
 * When a process started, as text that no other process with the same id shares; empty where that cannot be told.
 * Process ids are used again, in containers at once.
 * @param {number} pid
 * @returns {string}
 */
function startOf(pid) {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    }
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z') return 'ended';
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${rest[18]}`;
  } catch {
    return '';
  }
}

/**
 * Runs the action; false if it failed with the code that the caller expects.
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
