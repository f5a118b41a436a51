/** Roles that a worker can have. */
export const WORKER_ROLES = ['relay', 'poll', 'dispatch'] as const;
export type WorkerRole = (typeof WORKER_ROLES)[number];

const ROLES_LABEL = ' roles=';

/** Appends the roles of a worker to its member of the heartbeat set in Redis. */
export function appendRolesToHeartbeatMember(heartbeatMember: string, roles: readonly WorkerRole[]): string {
  return `${heartbeatMember}${ROLES_LABEL}${roles.join(',')}`;
}

/**
 * Returns true if a worker has this role. Returns false for a worker of an earlier build, because such a worker does
 * not list its roles.
 * @param heartbeatMember the worker's member of the heartbeat set in Redis
 */
export function workerHasRole(heartbeatMember: string, role: WorkerRole): boolean {
  return heartbeatMember.split(ROLES_LABEL)[1]?.split(',').includes(role) === true;
}

/**
 * Returns the roles that no running worker has. Returns an empty list if a worker of an earlier build runs,
 * because such a worker does not list its roles.
 * @param workers the running workers' members of the heartbeat set in Redis
 */
export function findRolesWithoutWorker(workers: readonly string[]): WorkerRole[] {
  const roleLists = workers.map((name) => name.split(ROLES_LABEL)[1]?.split(','));
  if (roleLists.includes(undefined)) return [];
  return WORKER_ROLES.filter((role) => !roleLists.some((roles) => roles?.includes(role)));
}
