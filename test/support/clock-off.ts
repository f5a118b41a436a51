import { join } from 'node:path';
import { ROOT } from './process.js';

/** Variables of a process whose clock is off. */
export function clockOff(ms: number): Record<string, string> {
  const preload = join(ROOT, 'test/support/shifted-clock.mjs');
  return { NODE_OPTIONS: `--import=${preload}`, SHIFT_CLOCK_MS: String(ms) };
}
