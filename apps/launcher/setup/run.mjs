import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs a program in the foreground. Passes signals on to the program and waits for its end, so that the
 * program does not continue in the background after Ctrl-C.
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, deadlineMs?: number, quiet?: boolean, toStderr?: boolean }} [options]
 * `quiet`: the output is returned instead of shown; `toStderr`: all output is shown on standard error
 * @returns {Promise<{ status: number, output: string, interrupted: boolean }>} `status` as a shell reports it
 */
export async function run(program, args, { cwd, env, deadlineMs, quiet = false, toStderr = false } = {}) {
  const child = spawn(program, args, {
    stdio: quiet ? ['inherit', 'pipe', 'pipe'] : ['inherit', toStderr ? 2 : 'inherit', 'inherit'],
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
  // The terminal sends Ctrl-C to the program directly, because the program is in the same process group.
  const onInterrupt = () => {
    interrupted = true;
  };
  const passOn = (/** @type {NodeJS.Signals} */ signal) => {
    interrupted = true;
    child.kill(signal);
  };
  process.on('SIGINT', onInterrupt).on('SIGTERM', passOn).on('SIGHUP', passOn);
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
    process.off('SIGINT', onInterrupt).off('SIGTERM', passOn).off('SIGHUP', passOn);
  }
}
