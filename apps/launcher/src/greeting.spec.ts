import { describe, expect, it } from '@jest/globals';
import { announcement } from './greeting.js';

const OWN_REDIS = { REDIS_URL: 'redis://redis.example:6379' };
const OWN_UPSTREAM = { UPSTREAM_BASE_URL: 'https://messages.example/v1' };

describe('the start message of npm start', () => {
  it.each([
    [{}, 'Starting Redis, the simulator, the gateway and the worker …'],
    [OWN_REDIS, 'Starting the simulator, the gateway and the worker …'],
    [OWN_UPSTREAM, 'Starting Redis, the gateway and the worker …'],
    [{ ...OWN_REDIS, ...OWN_UPSTREAM }, 'Starting the gateway and the worker …'],
  ])('names the processes that start if the environment is %j', (environment, line) => {
    expect(announcement(environment)).toBe(line);
  });
});
