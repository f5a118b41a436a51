import { describe, expect, it } from '@jest/globals';
import { missingRoles, workerName } from './worker-roles.js';

describe('the roles that no worker has', () => {
  it.each([
    [[], ['relay', 'poll', 'dispatch']],
    [[workerName('a', ['relay', 'poll', 'dispatch'])], []],
    [[workerName('a', ['relay']), workerName('b', ['poll'])], ['dispatch']],
    [[workerName('a', ['poll']), 'one of an earlier build'], []],
  ])('of %j are %j', (workers, roles) => {
    expect(missingRoles(workers)).toEqual(roles);
  });
});
