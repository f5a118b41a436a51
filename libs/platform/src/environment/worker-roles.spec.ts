import { describe, expect, it } from '@jest/globals';
import { findRolesWithoutWorker, appendRolesToHeartbeatMember } from './worker-roles.js';

describe('the search for roles that no running worker has', () => {
  it.each([
    [[], ['relay', 'poll', 'dispatch']],
    [[appendRolesToHeartbeatMember('a', ['relay', 'poll', 'dispatch'])], []],
    [
      [appendRolesToHeartbeatMember('a', ['relay']), appendRolesToHeartbeatMember('b', ['poll'])],
      ['dispatch'],
    ],
    [[appendRolesToHeartbeatMember('a', ['poll']), 'one of an earlier build'], []],
  ])(
    'finds the roles that no heartbeat entry has; an entry of an earlier build counts as having all roles: entries %j, missing roles %j',
    (workers, roles) => {
      expect(findRolesWithoutWorker(workers)).toEqual(roles);
    },
  );
});
