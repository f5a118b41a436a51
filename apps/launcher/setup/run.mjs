import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs a program in the foreground. Signals are passed on to it and its end is waited for, so that nothing goes on
 * behind the back of whoever pressed Ctrl-C.
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, deadlineMs?: number, quiet?: boolean }} [options]
 *   `quiet`: what it prints is kept and handed back instead of shown
 * @returns {Promise<{ status: number, output: string, interrupted: boolean }>} the status a shell would report
 */
export async function run(program, args, { cwd, env, deadlineMs, quiet = false } = {}) {
  const child = spawn(program, args, {
    stdio: quiet ? ['inherit', 'pipe', 'pipe'] : 'inherit',
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      output += text;
    });
  }
  let interrupted = false;
  // A terminal's Ctrl-C reaches the program by itself, since it is of the same process group.
  const note = () => {
    interrupted = true;
  };
  const pass = (/** @type {NodeJS.Signals} */ signal) => {
    interrupted = true;
    child.kill(signal);
  };
  process.on('SIGINT', note).on('SIGTERM', pass).on('SIGHUP', pass);
  const timer =
    deadlineMs === undefined
      ? undefined
      : setTimeout(() => {
          child.kill('SIGTERM');
        }, deadlineMs);
  try {
    const status = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        resolve(code ?? 128 + constants.signals[signal ?? 'SIGTERM']);
      });
    });
    return { status, output, interrupted };
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', note).off('SIGTERM', pass).off('SIGHUP', pass);
  }
}
