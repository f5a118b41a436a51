/** Max number of files, and of tests, in the report. */
const COUNT = 10;

/** Reporter that prints the slowest files and tests at the end of a run of several files. */
export default class Slowest {
  /**
   * @param {unknown} _
   * @param {import('@jest/reporters').AggregatedResult} results
   */
  onRunComplete(_, { testResults }) {
    if (testResults.length < 2) return;
    const files = testResults.map(({ testFilePath, perfStats }) => ({
      name: testFilePath.replace(`${process.cwd()}/`, ''),
      ms: perfStats.runtime,
    }));
    const tests = testResults.flatMap(({ testResults: ofFile }) =>
      ofFile.map(({ fullName, duration }) => ({ name: fullName, ms: duration ?? 0 })),
    );
    say('files', files);
    say('tests', tests);
  }
}

/**
 * @param {string} kind
 * @param {{ name: string, ms: number }[]} all
 */
function say(kind, all) {
  const slowest = all.toSorted((a, b) => b.ms - a.ms).slice(0, COUNT);
  const lines = slowest.map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${name}`);
  process.stderr.write(`\nThe ${slowest.length} slowest ${kind}:\n${lines.join('\n')}\n`);
}
