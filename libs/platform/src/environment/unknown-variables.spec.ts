import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../log/logger.js';
import { unknownVariables, warnAboutUnknownVariables } from './unknown-variables.js';

describe('an unknown variable that resembles a known one', () => {
  it.each([
    ['UPSTEAM_BASE_URL', 'UPSTREAM_BASE_URL'],
    ['WEBHOOK_TIMEOUT', 'WEBHOOK_TIMEOUT_MS'],
    ['WEBHOOKS_TIMEOUT_MS', 'WEBHOOK_TIMEOUT_MS'],
    ['POLL_INTERVAL_MS', 'POLL_MIN_INTERVAL_MS'],
    ['UPSTREAM_URL', 'UPSTREAM_BASE_URL'],
    ['ENCRPYTION_KEY', 'ENCRYPTION_KEY'],
    ['BLOB_STOR', 'BLOB_STORE'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['REDIS_HOST', 'REDIS_URL'],
  ])('%s is reported with the nearest known name, %s', (name, nearest) => {
    expect(unknownVariables({ [name]: 'x' })).toEqual([{ name, nearest }]);
  });

  it.each([
    ['of this or another process of ours', 'WORKER_ROLES'],
    ['that is only like a short one', 'HOME'],
    ['of the system', 'HOSTNAME'],
    ['of npm', 'npm_config_port'],
    ['of the AWS SDK', 'AWS_ENDPOINT_URL_SQS'],
    ['of the simulator', 'SIMULATOR_PORT'],
    ['that Kubernetes sets for a service named worker', 'WORKER_SERVICE_HOST'],
    ['that Kubernetes sets for a port of a service named redis', 'REDIS_PORT_6379_TCP_ADDR'],
  ])('is not a variable %s: %s', (_, name) => {
    expect(unknownVariables({ [name]: 'x' })).toEqual([]);
  });

  it('is not reported if it is empty', () => {
    expect(unknownVariables({ UPSTEAM_BASE_URL: '', SEND_MAX_AGE: undefined })).toEqual([]);
  });

  it('is reported without its value, in a limited number of warnings', () => {
    const lines: string[] = [];
    const logger = createLogger('gateway', 'info', { write: (line) => lines.push(line) });
    const many = Array.from({ length: 1_000 }, (_, n) => [`SEND_${n}`, 'a secret'] as const);
    warnAboutUnknownVariables(logger, Object.fromEntries(many));
    expect(lines).toHaveLength(20);
    expect(lines.join('')).toContain('SEND_7 is unknown and has no effect');
    expect(lines.join('')).not.toContain('a secret');
  });
});
