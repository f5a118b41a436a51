import { describe, expect, it } from '@jest/globals';
import { missingRoles, withRoles } from './worker-roles.js';

describe('the roles that no worker runs', () => {
  it.each([
    [[], ['relay', 'poll', 'dispatch']],
    [[withRoles('a', ['relay', 'poll', 'dispatch'])], []],
    [[withRoles('a', ['relay']), withRoles('b', ['poll'])], ['dispatch']],
    [[withRoles('a', ['poll']), 'one of an earlier build'], []],
  ])('are, if the heartbeats of the running workers are %j: %j', (workers, roles) => {
    expect(missingRoles(workers)).toEqual(roles);
  });
});
