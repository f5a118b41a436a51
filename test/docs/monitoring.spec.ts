import { expect, it } from '@jest/globals';
import { READINESS_REASON_CODES } from '#platform';
import { filesOfTheRepository, read } from './pages.js';

it('the runbook of TidingsDegraded names every reason for which the alert fires', () => {
  const [, left = ''] = /tidings_degraded\{reason!~"([^"]+)"\}/.exec(read('monitoring/alerts.yml')) ?? [];
  const hasOtherAlert = new RegExp(`^(${left})$`);
  const [, runbook = ''] = /### TidingsDegraded\n([\s\S]*?)\n###/.exec(read('docs/operations.md')) ?? [];
  const codes = READINESS_REASON_CODES.filter((code) => !hasOtherAlert.test(code));
  expect(codes).toContain('versions_mixed');
  expect(codes.filter((code) => !runbook.includes(`\`${code}\``))).toEqual([]);
});

it('docs/metrics.md describes every metric that the alerts, the dashboard or another document names', () => {
  const described = read('docs/metrics.md');
  const files = filesOfTheRepository().filter((file) => /^monitoring\/|^docs\/[^/]+\.md$/.test(file));
  const named = files.flatMap((file) => [...read(file).matchAll(/\btidings_[a-z_]+/g)].map(([name]) => name));
  expect(new Set(named).size).toBeGreaterThan(40);
  const isDescribed = (name: string): boolean => described.includes(`\`${name}\``);
  expect(
    named.filter((name) => !isDescribed(name) && !isDescribed(name.replace(/_(bucket|sum|count)$/, ''))),
  ).toEqual([]);
});

it('the dashboard shows how long the oldest waiting send, delivery and event have waited', () => {
  const dashboard = read('monitoring/grafana/dashboards/tidings.json');
  const ages = [...read('docs/metrics.md').matchAll(/`(tidings_oldest_[a-z_]+)`/g)].map(
    ([, name = '']) => name,
  );
  expect(ages).toHaveLength(3);
  expect(ages.filter((name) => !dashboard.includes(`(${name})`))).toEqual([]);
});
