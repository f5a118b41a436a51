import { describe, expect, it } from '@jest/globals';
import { readEnvironment } from './environment.js';

describe('the environment of the simulator', () => {
  it('has a default for every variable', () => {
    expect(readEnvironment({})).toEqual({
      environment: {
        host: '127.0.0.1',
        port: 4010,
        apiKey: 'simulator-key',
        stateFile: null,
        seed: 1,
        settings: {},
        phoneNumber: '+15550000000',
      },
    });
  });

  it('is rejected with one error line per invalid value, which has the variable name, the problem and an example', () => {
    const read = readEnvironment({
      SIMULATOR_PORT: '70000',
      SIMULATOR_SEED: 'x',
      SIMULATOR_SETTINGS: '{"order":"up"}',
      SIMULATOR_PHONE_NUMBER: '555',
    });
    const faults = 'faults' in read ? read.faults : [];
    expect(faults).toHaveLength(4);
    for (const fault of faults)
      expect(fault).toMatch(/^SIMULATOR_[A-Z_]+ .+; for example SIMULATOR_[A-Z_]+=./);
    expect(faults[2]).toContain('order must be one of');
  });

  it('contains exactly the settings that SIMULATOR_SETTINGS names', () => {
    const read = readEnvironment({ SIMULATOR_SETTINGS: '{"limitCap":50}' });
    expect('environment' in read && read.environment.settings).toEqual({ limitCap: 50 });
  });
});
