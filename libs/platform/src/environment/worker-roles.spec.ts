import { describe, expect, it } from '@jest/globals';
import { missingRoles, memberWithRoles } from './worker-roles.js';

describe('the roles that no worker runs', () => {
  it.each([
    [[], ['relay', 'poll', 'dispatch']],
    [[memberWithRoles('a', ['relay', 'poll', 'dispatch'])], []],
    [[memberWithRoles('a', ['relay']), memberWithRoles('b', ['poll'])], ['dispatch']],
    [[memberWithRoles('a', ['poll']), 'one of an earlier build'], []],
  ])('for running workers with the heartbeat entries %j are %j', (workers, roles) => {
    expect(missingRoles(workers)).toEqual(roles);
  });
});
