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
    'finds the roles that no heartbeat entry lists; a worker of an earlier build, whose entry lists no roles, counts as having all: entries %j, missing roles %j',
    (workers, roles) => {
      expect(findRolesWithoutWorker(workers)).toEqual(roles);
    },
  );
});
