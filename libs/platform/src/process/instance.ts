import { hostname } from 'node:os';
import { newId } from '../ids.js';
import { withRoles, type WorkerRole } from '../environment/worker-roles.js';

/** A gateway or a worker that runs, as the others know it. */
export interface Instance {
  /** Of letters, digits, dots, dashes and underscores; no other one has it. */
  name: string;
  /** Of its build; undefined for builds that did not say it yet. */
  version: string | undefined;
  /** When it started, in milliseconds since 1970 by Redis' clock; 0 where that is not known. */
  since: number;
}

const MAX_HOST = 64;

export function newInstance(version: string, since: number): Instance {
  const host = hostname()
    .replace(/[^\w.-]/g, '_')
    .slice(0, MAX_HOST);
  return { name: `${host}-${newId('req')}`, version, since };
}

/** The sorted sets in which processes say that they are alive: members as of {@link memberOf}, scores as of Redis' clock. */
export function instancesKey(prefix: string, kind: 'gateways' | 'workers'): string {
  return `${prefix}:${kind}`;
}

/** What a process notes of itself. Its roles come last: earlier builds take all that follows for roles. */
export function memberOf({ name, version = '', since }: Instance, roles?: readonly WorkerRole[]): string {
  const member = `${name} version=${version} since=${since}`;
  return roles === undefined ? member : withRoles(member, roles);
}

export function instanceOf(member: string): Instance {
  const [name = ''] = member.split(' ', 1);
  const fact = (key: string): string | undefined => new RegExp(` ${key}=(\\S+)`).exec(member)?.[1];
  return { name, version: fact('version'), since: Number(fact('since') ?? 0) };
}

/** Those who say their version, by name: earlier builds leave no mark in the blob store either. */
export function namesOf(members: readonly string[]): string[] {
  return members
    .map(instanceOf)
    .filter(({ version }) => version !== undefined)
    .map(({ name }) => name);
}

/** Since when those that run are not all of one version; undefined while they are. */
export function mixedSince(instances: readonly Pick<Instance, 'version' | 'since'>[]): number | undefined {
  const firstOf = new Map<string | undefined, number>();
  for (const { version, since } of instances) {
    firstOf.set(version, Math.min(since, firstOf.get(version) ?? Infinity));
  }
  return firstOf.size < 2 ? undefined : Math.max(...firstOf.values());
}
