import { describe, expect, it } from '@jest/globals';
import { findRolesWithoutWorker, appendWorkerRoles } from './worker-roles.js';

describe('the search for roles that no running worker has', () => {
  it.each([
    [[], ['relay', 'poll', 'dispatch']],
    [[appendWorkerRoles('a', ['relay', 'poll', 'dispatch'])], []],
    [[appendWorkerRoles('a', ['relay']), appendWorkerRoles('b', ['poll'])], ['dispatch']],
    [[appendWorkerRoles('a', ['poll']), 'one of an earlier build'], []],
  ])(
    'finds the roles that no heartbeat entry has; an entry of an earlier build counts as having all roles: entries %j, missing roles %j',
    (workers, roles) => {
      expect(findRolesWithoutWorker(workers)).toEqual(roles);
    },
  );
});
