import { short } from '../figures.js';
import { ratios, type Spread, spreadOf } from './rounds.js';

/** A line of a table: a figure of the product, beside the limit of the machine. */
export interface TableLine {
  figure: string;
  product: Spread;
  /** Absent if nothing limits the figure but its bound. */
  limit?: Spread;
  /** Product divided by limit. */
  ratio?: Spread;
  /** What must be within the bound: the median of the ratio, or else of the product. */
  bound?: { relation: '≥' | '≤'; value: number; isMet: boolean };
}

/** Collects the lines of a benchmark, and prints them. */
export class BenchmarkTable {
  private readonly lines: TableLine[] = [];

  constructor(private readonly benchmark: string) {}

  /** Adds a figure that is compared with its limit. Without a bound it is only printed. */
  compare(figure: string, product: readonly number[], limit: readonly number[], bound?: Bound): void {
    const ratio = spreadOf(ratios(product, limit));
    this.add({ figure, product: spreadOf(product), limit: spreadOf(limit), ratio }, ratio.median, bound);
  }

  /**
   * Adds a figure whose bound is a value.
   * @param limit figure of the limit, which is only printed
   */
  single(figure: string, values: readonly number[], bound?: Bound, limit?: readonly number[]): void {
    const product = spreadOf(values);
    const beside =
      limit === undefined ? {} : { limit: spreadOf(limit), ratio: spreadOf(ratios(values, limit)) };
    this.add({ figure, product, ...beside }, product.median, bound);
  }

  /**
   * Prints the table, or its lines as JSON if the benchmark was started with `--json`. With `--check` the process fails
   * if a figure is not within its bound.
   */
  print(): void {
    if (process.argv.includes('--json'))
      console.log(JSON.stringify({ benchmark: this.benchmark, lines: this.lines }));
    else console.log(`\n${this.benchmark}\n\n${markdown(this.lines)}`);
    const isMissed = this.lines.some(({ bound }) => bound?.isMet === false);
    if (isMissed && process.argv.includes('--check')) process.exitCode = 1;
  }

  private add(line: TableLine, value: number, bound?: Bound): void {
    if (bound === undefined) this.lines.push(line);
    else {
      const [relation, limit] = bound;
      const isMet = relation === '≥' ? value >= limit : value <= limit;
      this.lines.push({ ...line, bound: { relation, value: limit, isMet } });
    }
  }
}

/** How a median must relate to a value. */
export type Bound = readonly [relation: '≥' | '≤', value: number];

function markdown(lines: readonly TableLine[]): string {
  const rows = lines.map(({ figure, product, limit, ratio, bound }) => [
    figure,
    text(product),
    limit === undefined ? '' : text(limit),
    ratio === undefined ? '' : text(ratio),
    bound === undefined ? '' : `${bound.relation} ${bound.value} ${bound.isMet ? 'ok' : '**missed**'}`,
  ]);
  const all = [
    ['figure', 'Tidings', 'limit', 'ratio', 'bound'],
    ['---', '---', '---', '---', '---'],
    ...rows,
  ];
  return all.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function text({ median, min, max }: Spread): string {
  return min === max ? short(median) : `${short(median)} (${short(min)}–${short(max)})`;
}
