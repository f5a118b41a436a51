/**
 * Returns a generator of numbers from 0 (inclusive) to 1 (exclusive), reproducible by seed. Uses xorshift128,
 * initialized by splitmix32.
 */
export function seededRandom(seed: number): () => number {
  let mixed = seed >>> 0;
  const next32 = (): number => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let z = mixed;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  let [x, y, z, w] = [next32(), next32(), next32(), next32() | 1];
  return () => {
    const t = x ^ (x << 11);
    [x, y, z] = [y, z, w];
    w = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) >>> 0;
    return w / 2 ** 32;
  };
}

/** Returns an exponentially distributed time with this mean. */
export function exponential(random: () => number, mean: number): number {
  return -Math.log(1 - random()) * mean;
}

/**
 * Returns a generator of whole numbers from 0 to n - 1. The k-th number has a probability in proportion to 1
 * / k^s.
 */
export function zipf(random: () => number, n: number, s: number): () => number {
  const sums = new Float64Array(n);
  let sum = 0;
  for (let k = 0; k < n; k += 1) sums[k] = sum += 1 / (k + 1) ** s;
  return () => {
    const wanted = random() * sum;
    let [low, high] = [0, n - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
