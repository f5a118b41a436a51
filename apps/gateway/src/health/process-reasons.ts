import {
  type Instance,
  instanceOf,
  missingRoles,
  mixedSince,
  type Reason,
  SEEN_WITHIN_MS,
  type WorkerRole,
} from '#platform';

/** What does not happen without a worker of this role. */
const WITHOUT_ROLE: Readonly<Record<WorkerRole, string>> = {
  relay: 'sends are stored, but not relayed',
  poll: 'nothing is polled, so that there are no events of messages',
  dispatch: 'no webhook is delivered',
};

/** A deployment may take so long to get to the last process. */
const DEPLOYMENT_MS = 10 * 60_000;

/** What is wrong with the workers that are alive. @param workers as they note themselves */
export function workerReasons(workers: readonly string[]): Reason[] {
  if (workers.length === 0) {
    const words = `no worker was seen in the last ${SEEN_WITHIN_MS / 1000} seconds`;
    return [{ code: 'no_worker', count: 1, words }];
  }
  return missingRoles(workers).map((role) => ({
    ...{ code: `no_${role}_worker` as const, count: 1 },
    words: `no worker has the role ${role}: ${WITHOUT_ROLE[role]}`,
  }));
}

/**
 * Whether processes of several versions run for longer than a deployment takes.
 * @param members of gateways and workers, as they note themselves
 * @param now by Redis' clock
 */
export function versionReasons(members: readonly string[], now: number): Reason[] {
  const instances = members.map(instanceOf);
  const since = mixedSince(instances);
  if (since === undefined || now - since < DEPLOYMENT_MS) return [];
  const versions = versionsOf(instances);
  const minutes = Math.floor((now - since) / 60_000);
  const words = `gateways and workers of ${versions.length} versions have run together for ${minutes} minutes`;
  return [{ code: 'versions_mixed', count: versions.length, words }];
}

function versionsOf(instances: readonly Instance[]): (string | undefined)[] {
  return [...new Set(instances.map(({ version }) => version))];
}
