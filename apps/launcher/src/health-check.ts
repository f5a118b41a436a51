// Health check of the Docker image: checks whether the process in the container is alive. Exits with status 0 or 1.
import { readFileSync } from 'node:fs';
import { checkOf } from './container-check.js';

const { variable, port, path } = checkOf(readFileSync('/proc/1/cmdline', 'utf8'));
const given = process.env[variable] ?? '';
const url = `http://127.0.0.1:${given === '' ? port : given}${path}`;
try {
  const reply = await fetch(url, { signal: AbortSignal.timeout(4_000) });
  if (!reply.ok) throw new Error(`status ${reply.status}`);
} catch (error) {
  console.error(`${url}: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
