import { hostname } from 'node:os';
import { newId } from '../ids.js';
import { appendRolesToHeartbeatMember, type WorkerRole } from '../environment/worker-roles.js';

/** A running gateway or worker, as other processes see it. */
export interface ProcessInstance {
  /** Unique name of the process. It consists of letters, digits, dots, dashes and underscores. */
  name: string;
  /**
   * Version of the build; undefined if the process is of an earlier build, which does not announce its
   * version.
   */
  version: string | undefined;
  /** When the process started, in milliseconds since 1970 by Redis' clock; 0 if unknown. */
  since: number;
  /** Digest of the settings, see `digestSettings`; undefined if an earlier build does not announce it. */
  settings?: string | undefined;
}

const MAX_HOST = 64;

/**
 * Describes this process, with a new unique name that begins with the host name.
 * @param since when the process started, in milliseconds since 1970 by Redis' clock
 * @param settings digest of the settings; see `digestSettings`
 */
export function createProcessInstance(version: string, since: number, settings?: string): ProcessInstance {
  const host = hostname()
    .replace(/[^\w.-]/g, '_')
    .slice(0, MAX_HOST);
  return { name: `${host}-${newId('req')}`, version, since, settings };
}

/**
 * Returns the Redis key of the heartbeat set: the sorted set of running gateways or workers. Its members come
 * from {@link formatProcessInstance}. Its scores are the times of the last heartbeats, in milliseconds since 1970 by
 * Redis' clock.
 */
export function heartbeatSetRedisKey(prefix: string, kind: 'gateways' | 'workers'): string {
  return `${prefix}:${kind}`;
}

/**
 * Formats a running process as a member of the heartbeat set. {@link parseProcessInstance} parses this text. The
 * roles come last, because earlier builds parse everything after `roles=` as roles.
 */
export function formatProcessInstance(
  { name, version = '', since, settings }: ProcessInstance,
  roles?: readonly WorkerRole[],
): string {
  const announced = settings === undefined ? '' : ` settings=${settings}`;
  const member = `${name} version=${version} since=${since}${announced}`;
  return roles === undefined ? member : appendRolesToHeartbeatMember(member, roles);
}

/** Parses a member of the heartbeat set, also one that a process of an earlier build wrote. */
export function parseProcessInstance(member: string): ProcessInstance {
  const [name = ''] = member.split(' ', 1);
  const fact = (key: string): string | undefined => new RegExp(` ${key}=(\\S+)`).exec(member)?.[1];
  return { name, version: fact('version'), since: Number(fact('since') ?? 0), settings: fact('settings') };
}

/**
 * Returns the names of the processes that announce their version. Processes of earlier builds do not announce it.
 * They are left out, because they write no marker file to the blob store, and other processes must not expect one
 * from them.
 */
export function namesOfProcessesWithKnownVersion(heartbeatMembers: readonly string[]): string[] {
  return heartbeatMembers
    .map(parseProcessInstance)
    .filter(({ version }) => version !== undefined)
    .map(({ name }) => name);
}

/**
 * Returns when the running processes began to differ in `key`, in milliseconds since 1970: the latest of the times at
 * which the first running process with each value started. Returns undefined if all have the same value.
 */
export function processesDifferSince<K extends 'version' | 'settings'>(
  instances: readonly Pick<ProcessInstance, K | 'since'>[],
  key: K,
): number | undefined {
  const firstOf = new Map<string | undefined, number>();
  for (const { [key]: value, since } of instances) {
    firstOf.set(value, Math.min(since, firstOf.get(value) ?? Infinity));
  }
  return firstOf.size < 2 ? undefined : Math.max(...firstOf.values());
}
