import { describe, expect, it } from '@jest/globals';
import { findRolesWithoutWorker, formatWorkerHeartbeatMember } from './worker-roles.js';

describe('the search for roles that no running worker has', () => {
  it.each([
    [[], ['relay', 'poll', 'dispatch']],
    [[formatWorkerHeartbeatMember('a', ['relay', 'poll', 'dispatch'])], []],
    [[formatWorkerHeartbeatMember('a', ['relay']), formatWorkerHeartbeatMember('b', ['poll'])], ['dispatch']],
    [[formatWorkerHeartbeatMember('a', ['poll']), 'one of an earlier build'], []],
  ])(
    'compares all roles with the heartbeat entries of the workers: for the entries %j it returns %j',
    (workers, roles) => {
      expect(findRolesWithoutWorker(workers)).toEqual(roles);
    },
  );
});
