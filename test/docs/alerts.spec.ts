import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findProgram } from '../support/find-program.js';
import { read } from './pages.js';

const PROMTOOL = findProgram('promtool');
if (PROMTOOL === undefined)
  process.stderr.write('SKIPPED: the rules of the alerts are not tested without promtool\n');

/** Values of one series, as promtool reads them: `0x10` stays 0 for ten minutes. */
interface InputSeries {
  series: string;
  values: string;
}

interface ExpectedAlert {
  labels: Record<string, string>;
  summary: string;
}

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-alerts-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Lets promtool compare the alerts of one name after ten minutes. @throws what promtool prints, if they differ */
async function requireAlerts(
  series: readonly InputSeries[],
  alertname: string,
  expected: readonly ExpectedAlert[],
): Promise<void> {
  const test = {
    rule_files: [join(import.meta.dirname, '../../monitoring/alerts.yml')],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: series,
        alert_rule_test: [
          {
            eval_time: '10m',
            alertname,
            exp_alerts: expected.map(({ labels, summary }) => ({
              exp_labels: labels,
              exp_annotations: { summary, runbook: `docs/operations.md#${alertname.toLowerCase()}` },
            })),
          },
        ],
      },
    ],
  };
  const file = join(folder, 'test.yml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify(test));
  const { stdout } = await promisify(execFile)(PROMTOOL ?? '', ['test', 'rules', file]);
  expect(stdout).toContain('SUCCESS');
}

(PROMTOOL === undefined ? describe.skip : describe)('the alerts', () => {
  it('report one gateway that cannot write to Redis, even if the others can', async () => {
    await requireAlerts(
      [
        { series: 'tidings_redis_up{instance="a:3000"}', values: '1x10' },
        { series: 'tidings_redis_up{instance="b:3000"}', values: '0x10' },
      ],
      'TidingsRedisDown',
      [
        {
          labels: { severity: 'critical', instance: 'b:3000' },
          summary: 'The gateway b:3000 cannot write to Redis, so it accepts no send.',
        },
      ],
    );
  });

  it('report an unavailable messaging service even if its account is not among the first 100', async () => {
    const series = (accounts: number): InputSeries[] => [
      { series: 'tidings_upstream_up{instance="a:3000",account="acc_1"}', values: '1x10' },
      { series: 'tidings_degraded{instance="a:3000",reason="upstream_down"}', values: '1x10' },
      { series: 'tidings_accounts{instance="a:3000"}', values: `${accounts}x10` },
    ];
    await requireAlerts(series(100), 'TidingsUpstreamUnavailable', []);
    await requireAlerts(series(101), 'TidingsUpstreamUnavailable', [
      {
        labels: { severity: 'critical', reason: 'upstream_down' },
        summary: 'The messaging service of at least one account is unavailable.',
      },
    ]);
  });

  it('report that production has no relay worker while staging has one', async () => {
    const workers = (installation: string): string =>
      `tidings_workers{instance="a:3000",installation="${installation}",role="relay"}`;
    const series = [
      { series: workers('production'), values: '0x10' },
      { series: workers('staging'), values: '1x10' },
    ];
    await requireAlerts(series, 'TidingsNoWorker', [
      {
        labels: { severity: 'critical', installation: 'production', role: 'relay' },
        summary: 'No running worker has the role relay.',
      },
    ]);
  });

  it('compare the memory of each Redis with its own limit', async () => {
    const memory = (name: string, installation: string, bytes: number): InputSeries => ({
      series: `tidings_redis_memory_${name}_bytes{instance="a:3000",installation="${installation}"}`,
      values: `${bytes}x10`,
    });
    const series = [
      memory('used', 'production', 950),
      memory('max', 'production', 1_000),
      memory('used', 'staging', 10),
      memory('max', 'staging', 4_000),
    ];
    await requireAlerts(series, 'TidingsRedisNearlyFull', [
      {
        labels: { severity: 'critical', installation: 'production' },
        summary: 'Redis uses 950B, more than 80 % of its maxmemory.',
      },
    ]);
  });

  it('report that polls fail only if more than half of the polls fail', async () => {
    const series = (failed: number, done: number): InputSeries[] =>
      Object.entries({ failed, postponed: 1, done }).map(([result, aMinute]) => ({
        series: `tidings_polls_total{instance="a:3001",kind="head",result="${result}"}`,
        values: `0+${aMinute}x10`,
      }));
    await requireAlerts(series(8, 10), 'TidingsPollsFail', []);
    await requireAlerts(series(10, 10), 'TidingsPollsFail', [
      { labels: { severity: 'warning' }, summary: 'More than half of the polls of contacts fail.' },
    ]);
  });

  it('name the account of an unavailable messaging service if the account is among the first 100', async () => {
    const series = [{ series: 'tidings_upstream_up{instance="a:3000",account="acc_1"}', values: '0x10' }];
    await requireAlerts(series, 'TidingsUpstreamUnavailable', [
      {
        labels: { severity: 'critical', account: 'acc_1' },
        summary: 'The messaging service of the account acc_1 is unavailable.',
      },
    ]);
  });
});

it('each aggregation in the rules of the alerts is grouped by installation', () => {
  const expressions = read('monitoring/alerts.yml').replaceAll(/^ *#.*$/gm, '');
  const aggregations = [...expressions.matchAll(/\b(?:sum|min|max|count|avg|group)\b *(?=by|\()(.{0,20})/g)];
  expect(aggregations.length).toBeGreaterThan(15);
  expect(aggregations.filter(([, rest = '']) => !rest.startsWith('by (installation'))).toEqual([]);
});
