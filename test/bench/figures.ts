/** Prints measured values with their bounds. With `--check`, a violated bound sets exit status 1. */

/** Prints a value that must be at least the bound. */
export function atLeast(bound: number, value: number, name: string): void {
  print(name, value, '≥', bound, value >= bound);
}

/** Prints a value that must be at most the bound. */
export function atMost(bound: number, value: number, name: string): void {
  print(name, value, '≤', bound, value <= bound);
}

/** Prints a value that must equal the bound. */
export function exactly(bound: number, value: number, name: string): void {
  print(name, value, '=', bound, value === bound);
}

/** Prints a text without a bound. */
export function information(text: string): void {
  console.log(`  ${text}`);
}

/** Prints a heading. */
export function heading(text: string): void {
  console.log(`\n${text}`);
}

/** Formats a number. Small fractions get three significant digits. */
export function short(value: number): string {
  return Number.isInteger(value) || value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function print(name: string, value: number, relation: string, bound: number, met: boolean): void {
  console.log(`  ${name}: ${short(value)} (${relation} ${bound}) ${met ? 'ok' : 'MISSED'}`);
  if (!met && process.argv.includes('--check')) process.exitCode = 1;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('An empty list has no median.');
  return middle;
}

/** Returns the duration of a function call, in milliseconds. */
export function timed(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
