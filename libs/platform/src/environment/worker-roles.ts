/** What a worker can be there for. */
export const WORKER_ROLES = ['relay', 'poll', 'dispatch'] as const;
export type WorkerRole = (typeof WORKER_ROLES)[number];

const MARK = ' roles=';

/** What a worker says of itself, and its roles. */
export function withRoles(name: string, roles: readonly WorkerRole[]): string {
  return `${name}${MARK}${roles.join(',')}`;
}

/** Whether a worker says that it has this role; one of an earlier build does not say which it has. */
export function saysRole(member: string, role: WorkerRole): boolean {
  return member.split(MARK)[1]?.split(',').includes(role) === true;
}

/** The roles that none of these workers has. One of an earlier build does not say which it has, and may have all. */
export function missingRoles(workers: readonly string[]): WorkerRole[] {
  const said = workers.map((name) => name.split(MARK)[1]?.split(','));
  if (said.includes(undefined)) return [];
  return WORKER_ROLES.filter((role) => !said.some((roles) => roles?.includes(role)));
}
