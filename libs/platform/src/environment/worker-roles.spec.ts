import { describe, expect, it } from '@jest/globals';
import { findRolesWithoutWorker, formatWorkerHeartbeatMember } from './worker-roles.js';

describe('the roles that no worker runs', () => {
  it.each([
    [[], ['relay', 'poll', 'dispatch']],
    [[formatWorkerHeartbeatMember('a', ['relay', 'poll', 'dispatch'])], []],
    [[formatWorkerHeartbeatMember('a', ['relay']), formatWorkerHeartbeatMember('b', ['poll'])], ['dispatch']],
    [[formatWorkerHeartbeatMember('a', ['poll']), 'one of an earlier build'], []],
  ])('are, for the heartbeat entries %j of the running workers: %j', (workers, roles) => {
    expect(findRolesWithoutWorker(workers)).toEqual(roles);
  });
});
