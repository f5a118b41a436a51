import { median } from '../figures.js';

const ROUNDS = Number(process.env['TIDINGS_BENCH_ROUNDS'] ?? '5');

/** Results of measurements that took turns. */
export interface Rounds<Limit, Product> {
  limit: Limit[];
  product: Product[];
}

/**
 * Measures the product and the limit in turns, so that both meet the same state of the machine. The first round of each
 * is a warm-up, and is not counted.
 */
export async function inRounds<Limit, Product>(
  limit: () => Promise<Limit>,
  product: () => Promise<Product>,
): Promise<Rounds<Limit, Product>> {
  await limit();
  await product();
  const rounds: Rounds<Limit, Product> = { limit: [], product: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    // Alternates which of the two is measured first.
    if (round % 2 === 0) rounds.limit.push(await limit());
    rounds.product.push(await product());
    if (round % 2 === 1) rounds.limit.push(await limit());
  }
  return rounds;
}

/** Median, minimum and maximum. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Returns the ratios of product to limit, one for each round. */
export function ratios(product: readonly number[], limit: readonly number[]): number[] {
  return product.map((value, round) => value / (limit[round] ?? Number.NaN));
}
