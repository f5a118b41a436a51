import type { WorkerEnvironment } from '#platform';

/** How often it is looked whether an outage is to be probed; by how often it is, the outage itself decides. */
export const PROBE_TICK_MS = 500;

/** So much longer than its request a probe may take, its wait in the budget included, before it counts as lost. */
const LEASE_MARGIN_MS = 5_000;

export function probeLeaseMs({ UPSTREAM_TIMEOUT_MS }: WorkerEnvironment): number {
  return UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS;
}
