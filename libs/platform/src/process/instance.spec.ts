import { describe, expect, it } from '@jest/globals';
import { parseInstance, instanceMember, mixedVersionsSince, newInstance } from './instance.js';
import { missingRoles } from '../environment/worker-roles.js';

describe('the heartbeat member of a process', () => {
  it('is parsed as it was written, and earlier builds find its roles, too', () => {
    const instance = newInstance('1.2.0+abc', 17);
    expect(instance.name).toMatch(/^[\w.-]+$/);
    expect(parseInstance(instanceMember(instance))).toEqual(instance);
    const worker = instanceMember(instance, ['relay', 'poll']);
    expect(parseInstance(worker)).toEqual(instance);
    expect(missingRoles([worker])).toEqual(['dispatch']);
    expect(worker.split(' roles=')[1]).toBe('relay,poll');
  });

  it('of an earlier build has no version', () => {
    expect(parseInstance('machine-req_1 roles=relay')).toEqual({
      ...{ name: 'machine-req_1', version: undefined, since: 0 },
    });
  });
});

describe('running versions are mixed', () => {
  const of = (version: string | undefined, since: number) => ({ name: 'x', version, since });

  it.each([
    ['never where there is one', [of('1', 5), of('1', 9)], undefined],
    ['never where nothing runs', [], undefined],
    ['since the first of the later one', [of('1', 5), of('2', 100), of('2', 200)], 100],
    ['since that of the latest of three', [of('1', 5), of('3', 300), of('2', 200)], 300],
    ['with an earlier build, which does not say its own', [of(undefined, 0), of('2', 200)], 200],
  ])('%s', (_, instances, since) => {
    expect(mixedVersionsSince(instances)).toBe(since);
  });
});
