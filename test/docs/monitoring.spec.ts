import { expect, it } from '@jest/globals';
import { READINESS_REASON_CODES } from '#platform';
import { read } from './pages.js';

it('the runbook of TidingsDegraded names every reason for which the alert fires', () => {
  const [, left = ''] = /tidings_degraded\{reason!~"([^"]+)"\}/.exec(read('monitoring/alerts.yml')) ?? [];
  const hasOtherAlert = new RegExp(`^(${left})$`);
  const [, runbook = ''] = /### TidingsDegraded\n([\s\S]*?)\n###/.exec(read('docs/operations.md')) ?? [];
  const codes = READINESS_REASON_CODES.filter((code) => !hasOtherAlert.test(code));
  expect(codes).toContain('versions_mixed');
  expect(codes.filter((code) => !runbook.includes(`\`${code}\``))).toEqual([]);
});
