import { describe, expect, it } from '@jest/globals';
import { describeUnmetRedisRequirements } from './redis-requirements.js';

const version = (text: string): string => `# Server\r\nredis_version:${text}\r\nredis_mode:standalone\r\n`;
const policy = (text: string): string => `# Memory\r\nused_memory:1\r\nmaxmemory_policy:${text}\r\n`;

describe('a Redis server', () => {
  it.each(['7.0.0', '7.0.15', '7.2.4', '8.0.1', '10.1.0'])(
    'of version %s that never evicts keys meets the requirements',
    (text) => {
      expect(describeUnmetRedisRequirements(version(text), policy('noeviction'))).toEqual([]);
    },
  );

  it.each(['6.2.14', '6.9.9', '2.8.0'])('of version %s is reported as too old, in one line', (text) => {
    const faults = describeUnmetRedisRequirements(version(text), policy('noeviction'));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(text);
    expect(faults[0]).toMatch(/REDIS_URL.*7\.0 or newer.*for example/);
    expect(faults[0]).not.toContain('\n');
  });

  it.each(['allkeys-lru', 'volatile-ttl', 'allkeys-random'])(
    'that may evict keys (policy %s) does not meet the requirements',
    (text) => {
      const faults = describeUnmetRedisRequirements(version('7.0.0'), policy(text));
      expect(faults).toHaveLength(1);
      expect(faults[0]).toMatch(new RegExp(`REDIS_URL.*${text}.*CONFIG SET maxmemory-policy noeviction`));
    },
  );

  it('that reports neither its version nor its eviction policy fails both requirements', () => {
    expect(describeUnmetRedisRequirements('', '')).toHaveLength(2);
  });
});
