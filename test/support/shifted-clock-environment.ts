import { join } from 'node:path';
import { ROOT } from './process.js';

/** Environment variables that shift the clock of a process by some milliseconds. */
export function shiftedClock(ms: number): Record<string, string> {
  const preload = join(ROOT, 'test/support/shifted-clock.mjs');
  return { NODE_OPTIONS: `--import=${preload}`, SHIFT_CLOCK_MS: String(ms) };
}
