import { describe, expect, it } from '@jest/globals';
import {
  parseProcessInstance,
  formatProcessInstance,
  processesDifferSince,
  createProcessInstance,
} from './process-instance.js';
import { findRolesWithoutWorker } from '../environment/worker-roles.js';

describe('the heartbeat entry of a process in Redis', () => {
  it('is parsed to the written values, and lists the roles of a worker in the format that earlier builds can parse', () => {
    const instance = createProcessInstance('1.2.0+abc', 17, 'x-Y_9');
    expect(instance.name).toMatch(/^[\w.-]+$/);
    expect(parseProcessInstance(formatProcessInstance(instance))).toEqual(instance);
    const worker = formatProcessInstance(instance, ['relay', 'poll']);
    expect(parseProcessInstance(worker)).toEqual(instance);
    expect(findRolesWithoutWorker([worker])).toEqual(['dispatch']);
    expect(worker.split(' roles=')[1]).toBe('relay,poll');
  });

  it('is parsed without a version if an earlier build wrote the entry', () => {
    expect(parseProcessInstance('machine-req_1 roles=relay')).toEqual({
      ...{ name: 'machine-req_1', version: undefined, since: 0 },
    });
  });
});

describe('the time when the current mix of running versions began', () => {
  const of = (version: string | undefined, since: number) => ({ name: 'x', version, since });

  it.each([
    ['all processes have the same version', [of('1', 5), of('1', 9)]],
    ['no process runs', []],
  ])('is undefined if %s', (_, instances) => {
    expect(processesDifferSince(instances, 'version')).toBeUndefined();
  });

  it.each([
    ['the first process of the newer version', [of('1', 5), of('2', 100), of('2', 200)], 100],
    ['the last process, if three versions run,', [of('1', 5), of('3', 300), of('2', 200)], 300],
    [
      'the newer process, if an older process does not report its version,',
      [of(undefined, 0), of('2', 200)],
      200,
    ],
  ])('is the time when %s started', (_, instances, since) => {
    expect(processesDifferSince(instances, 'version')).toBe(since);
  });
});
