/** Prints figures beside their bounds; a missed one ends the process with status 1. */

/** A figure that must be at least so much. */
export function atLeast(bound: number, value: number, name: string): void {
  print(name, value, '≥', bound, value >= bound);
}

/** A figure that must be at most so much. */
export function atMost(bound: number, value: number, name: string): void {
  print(name, value, '≤', bound, value <= bound);
}

/** A figure that must be just that. */
export function exactly(bound: number, value: number, name: string): void {
  print(name, value, '=', bound, value === bound);
}

/** A figure without a bound. */
export function information(text: string): void {
  console.log(`  ${text}`);
}

export function heading(text: string): void {
  console.log(`\n${text}`);
}

/** With three digits where it is small. */
export function short(value: number): string {
  return Number.isInteger(value) || value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function print(name: string, value: number, relation: string, bound: number, met: boolean): void {
  console.log(`  ${name}: ${short(value)} (${relation} ${bound}) ${met ? 'ok' : 'MISSED'}`);
  if (!met) process.exitCode = 1;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('There is no median of nothing.');
  return middle;
}

/** How long a piece of work takes, in milliseconds. */
export function timed(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
