import {
  type ProcessInstance,
  parseProcessInstance,
  findRolesWithoutWorker,
  processesDifferSince,
  type Reason,
  HEARTBEAT_TTL_MS,
  type WorkerRole,
} from '#platform';

/** The effect of a missing worker role. */
const WITHOUT_ROLE: Readonly<Record<WorkerRole, string>> = {
  relay: 'sends are stored but not relayed',
  poll: 'contacts are not polled, and no message events are emitted',
  dispatch: 'no events are delivered to webhooks',
};

/**
 * Time that a deployment may take, in milliseconds. Processes of different versions or settings are reported only
 * after this time.
 */
const DEPLOYMENT_MS = 10 * 60_000;

/** Reports missing workers and missing worker roles. @param workers one member per live worker, from its heartbeat */
export function workerReasons(workers: readonly string[]): Reason[] {
  if (workers.length === 0) {
    const description = `no worker has sent a heartbeat in the last ${HEARTBEAT_TTL_MS / 1000} seconds`;
    return [{ code: 'no_worker', count: 1, description }];
  }
  return findRolesWithoutWorker(workers).map((role) => ({
    ...{ code: `no_${role}_worker` as const, count: 1 },
    description: `no running worker has the role ${role}: ${WITHOUT_ROLE[role]}`,
  }));
}

/**
 * Reports processes of different versions or with different settings that have run together for longer than a
 * deployment takes.
 * @param members one member per live gateway and worker, from its heartbeat
 * @param now Redis time, in milliseconds since 1970
 */
export function mixReasons(members: readonly string[], now: number): Reason[] {
  const instances = members.map(parseProcessInstance);
  // Earlier builds do not announce their settings.
  const withSettings = instances.filter(({ settings }) => settings !== undefined);
  return [
    ...mixOf(instances, 'version', now, (count, minutes) => ({
      ...{ code: 'versions_mixed', count },
      description: `gateways and workers of ${count} different versions have run at the same time for ${minutes} minutes`,
    })),
    ...mixOf(withSettings, 'settings', now, (count, minutes) => ({
      ...{ code: 'settings_mixed', count },
      description: `gateways and workers with ${count} different settings have run at the same time for ${minutes} minutes`,
    })),
  ];
}

function mixOf(
  instances: readonly ProcessInstance[],
  key: 'version' | 'settings',
  now: number,
  reasonOf: (count: number, minutes: number) => Reason,
): Reason[] {
  const since = processesDifferSince(instances, key);
  if (since === undefined || now - since < DEPLOYMENT_MS) return [];
  const { size } = new Set(instances.map((instance) => instance[key]));
  return [reasonOf(size, Math.floor((now - since) / 60_000))];
}
