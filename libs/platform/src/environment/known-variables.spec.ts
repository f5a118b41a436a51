import { describe, expect, it } from '@jest/globals';
import { KNOWN_ENVIRONMENT_VARIABLES, SECRET_ENVIRONMENT_VARIABLES } from './known-variables.js';

describe('the variables whose values are secret', () => {
  it('are those with keys and tokens', () => {
    expect([...SECRET_ENVIRONMENT_VARIABLES].sort()).toEqual([
      'API_KEY',
      'ENCRYPTION_KEY',
      'ENCRYPTION_KEYS_PREVIOUS',
      'METRICS_TOKEN',
      'UPSTREAM_API_KEY',
    ]);
  });

  it('include every variable whose name ends in _KEY, _TOKEN or another word for a secret, also before _PREVIOUS', () => {
    const named = [...KNOWN_ENVIRONMENT_VARIABLES].filter((name) =>
      /_(KEYS?|TOKEN|SECRET|PASSWORD|CREDENTIALS)(_PREVIOUS)?$/.test(name),
    );
    expect(named.filter((name) => !SECRET_ENVIRONMENT_VARIABLES.has(name))).toEqual([]);
  });
});
