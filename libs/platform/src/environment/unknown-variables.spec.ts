import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../log/logger.js';
import {
  findUnknownEnvironmentVariables,
  warnAboutUnknownEnvironmentVariables,
} from './unknown-variables.js';

describe('the check for unknown environment variables', () => {
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
  ])('reports the unknown name %s and suggests the most similar known name, %s', (name, nearest) => {
    expect(findUnknownEnvironmentVariables({ [name]: 'x' })).toEqual([{ name, nearest }]);
  });

  it.each([
    ['WORKER_ROLES', 'known to the gateway or the worker'],
    ['HOME', 'a short name that resembles a known name only by chance'],
    ['HOSTNAME', 'of the operating system'],
    ['npm_config_port', 'of npm'],
    ['AWS_ENDPOINT_URL_SQS', 'of the AWS SDK'],
    ['SIMULATOR_PORT', 'of the simulator'],
    ['TIDINGS_SIMULATOR_URL', 'of the command line'],
    ['WORKER_SERVICE_HOST', 'set by Kubernetes for a service named worker'],
    ['REDIS_PORT_6379_TCP_ADDR', 'set by Kubernetes for a port of a service named redis'],
  ])('does not report a known variable, or one that probably belongs to another program: %s (%s)', (name) => {
    expect(findUnknownEnvironmentVariables({ [name]: 'x' })).toEqual([]);
  });

  it('does not report an unknown variable without a value', () => {
    expect(findUnknownEnvironmentVariables({ UPSTEAM_BASE_URL: '', SEND_MAX_AGE: undefined })).toEqual([]);
  });

  it('logs at most 20 warnings, without the values of the variables', () => {
    const lines: string[] = [];
    const logger = createLogger('gateway', 'info', { write: (line) => lines.push(line) });
    const many = Array.from({ length: 1_000 }, (_, n) => [`SEND_${n}`, 'a secret'] as const);
    warnAboutUnknownEnvironmentVariables(logger, Object.fromEntries(many));
    expect(lines).toHaveLength(20);
    expect(lines.join('')).toContain('SEND_7 is unknown and has no effect');
    expect(lines.join('')).not.toContain('a secret');
  });
});
