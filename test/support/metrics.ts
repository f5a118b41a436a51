/** The metrics of one scrape. */
export interface Scrape {
  /**
   * Returns the sum of the samples of a metric that have these labels, or NaN without any. A histogram's samples have
   * the names of its parts: `_count`, `_sum` and `_bucket`.
   */
  value(name: string, labels?: Readonly<Record<string, string>>): number;
  /** Returns the names of all samples. */
  names(): string[];
}

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Parses metrics in the text format of Prometheus. @throws {Error} at a line that is not in this format */
export function metricsIn(text: string): Scrape {
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(sampleIn);
  return {
    value: (name, labels = {}) => {
      const found = samples.filter(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      );
      return found.length === 0 ? Number.NaN : found.reduce((sum, { value }) => sum + value, 0);
    },
    names: () => [...new Set(samples.map(({ name }) => name))],
  };
}

function sampleIn(line: string): Sample {
  const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a metric: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, text])),
    value: value === '+Inf' ? Infinity : Number(value),
  };
}

/** Returns a Markdown table of the product's metrics in a scrape, without those of Node.js. */
export function metricTable(text: string): string {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
  const rows = [...text.matchAll(/^# HELP (tidings_\S+) (.+)$/gm)]
    .sort(([, a = ''], [, b = '']) => (a < b ? -1 : 1))
    .map(([, name = '', help = '']) => `| \`${name}\` | ${types.get(name) ?? ''} | ${help} |`);
  return ['| metric | type | meaning |', '| --- | --- | --- |', ...rows, ''].join('\n');
}
