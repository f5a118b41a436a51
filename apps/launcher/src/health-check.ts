// Health check of the Docker image: asks the process in the container whether it is alive. Exits with status
// 0 or 1.
import { readFileSync } from 'node:fs';

const CHECKS = {
  gateway: { variable: 'PORT', port: '3000', path: '/health/live' },
  worker: { variable: 'WORKER_PORT', port: '3001', path: '/health/live' },
  simulator: { variable: 'SIMULATOR_PORT', port: '4010', path: '/' },
} as const;

/** Returns the check of the process that the container runs, according to the container's command. */
function check(): (typeof CHECKS)[keyof typeof CHECKS] {
  const command = readFileSync('/proc/1/cmdline', 'utf8');
  if (command.includes('apps/worker/')) return CHECKS.worker;
  return command.includes('apps/simulator/') ? CHECKS.simulator : CHECKS.gateway;
}

const { variable, port, path } = check();
const given = process.env[variable] ?? '';
const url = `http://127.0.0.1:${given === '' ? port : given}${path}`;
try {
  const reply = await fetch(url, { signal: AbortSignal.timeout(4_000) });
  if (!reply.ok) throw new Error(`status ${reply.status}`);
} catch (error) {
  console.error(`${url}: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
