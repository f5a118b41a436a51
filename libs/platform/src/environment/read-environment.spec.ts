import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from './configuration-error.js';
import { CommonEnvironment, GatewayEnvironment, WorkerEnvironment } from './environment.js';
import { readEnvironment } from './read-environment.js';

const KEY = Buffer.alloc(32, 3).toString('base64');
const REQUIRED = {
  REDIS_URL: 'redis://127.0.0.1:6379',
  ENCRYPTION_KEY: KEY,
  UPSTREAM_BASE_URL: 'https://upstream.example.com/v1',
  UPSTREAM_API_KEY: 'upstream-key',
};
const GATEWAY = { ...REQUIRED, API_KEY: 'a-key-of-sixteen-characters' };

function faultsOf(shape: new () => object, source: Record<string, string | undefined>): readonly string[] {
  try {
    readEnvironment(shape, source);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
}

describe('the environment', () => {
  it('has default values for variables that are not set', () => {
    expect(readEnvironment(CommonEnvironment, REQUIRED)).toMatchObject({
      REDIS_KEY_PREFIX: 'tidings',
      ENCRYPTION_KEYS_PREVIOUS: [],
      UPSTREAM_TIMEOUT_MS: 10_000,
      UPSTREAM_REQUESTS_PER_SECOND: 10,
      EVENT_RETENTION_HOURS: 168,
      WEBHOOK_ALLOW_NETWORKS: [],
      BLOB_STORE: { kind: 'file', directory: '.data/blobs' },
      LOG_LEVEL: 'info',
    });
    expect(readEnvironment(GatewayEnvironment, GATEWAY)).toMatchObject({
      HOST: '127.0.0.1',
      PORT: 3000,
      UPLOAD_MAX_BYTES: 26_214_400,
      RATE_LIMIT_PER_MINUTE: 6_000,
      TOKEN_RATE_LIMIT_PER_MINUTE: 600,
      CONTACTS_SHAPE: 'contacts',
      READ_CACHE_MS: 1_000,
      CORS_ORIGINS: [],
    });
    expect(readEnvironment(WorkerEnvironment, REQUIRED)).toMatchObject({
      WORKER_HOST: '127.0.0.1',
      WORKER_PORT: 3001,
      WORKER_ROLES: ['relay', 'poll', 'dispatch'],
      CONTACTS_INTERVAL_MS: 30_000,
      POLL_MIN_INTERVAL_MS: 2_000,
      POLL_MAX_INTERVAL_MS: 300_000,
      POLL_BASELINE: 'silent',
      EVENT_RETENTION_MAX: 1_000_000,
      SEND_MAX_AGE_SECONDS: 86_400,
      SEND_RETRY_SCHEDULE_SECONDS: [1, 5, 30, 120, 600],
      SEND_SAFE_STATUSES: [429],
      SEND_CONFIRM_MS: 120_000,
      SEND_CONFIRM_MEDIA_MS: 1_200_000,
      SEND_ON_UNKNOWN: 'hold',
      SEND_RETENTION_HOURS: 168,
      SEND_RETENTION_MAX: 1_000_000,
      WEBHOOK_TIMEOUT_MS: 15_000,
      WEBHOOK_RETRY_SCHEDULE_SECONDS: [5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200],
      WEBHOOK_DISABLE_AFTER_HOURS: 120,
      WEBHOOK_MAX_CONCURRENCY: 20,
      DELIVERY_RETENTION_HOURS: 168,
      DELIVERY_RETENTION_MAX: 1_000_000,
    });
  });

  it('is converted to typed values', () => {
    const read = readEnvironment(WorkerEnvironment, {
      ...REQUIRED,
      UPSTREAM_BASE_URL: 'http://localhost:4010/v1//',
      UPSTREAM_REQUESTS_PER_SECOND: '0.5',
      WORKER_ROLES: 'poll, relay,poll',
      SEND_SAFE_STATUSES: ' 429 , 503 ',
      WORKER_PORT: '0',
      BLOB_STORE: 'file:/var/blobs',
      WEBHOOK_ALLOW_NETWORKS: '10.0.0.0/8, fd00::/8',
    });
    expect(read).toMatchObject({
      REDIS_URL: { kind: 'standalone', url: 'redis://127.0.0.1:6379' },
      UPSTREAM_BASE_URL: 'http://localhost:4010/v1',
      UPSTREAM_REQUESTS_PER_SECOND: 0.5,
      WORKER_ROLES: ['poll', 'relay'],
      SEND_SAFE_STATUSES: [429, 503],
      WORKER_PORT: 0,
      BLOB_STORE: { kind: 'file', directory: '/var/blobs' },
    });
    expect(read.ENCRYPTION_KEY.equals(Buffer.alloc(32, 3))).toBe(true);
    expect(read.WEBHOOK_ALLOW_NETWORKS).toHaveLength(2);
  });

  it.each([
    ['s3://company-tidings', { kind: 's3', bucket: 'company-tidings', prefix: '' }],
    ['s3://company-tidings/', { kind: 's3', bucket: 'company-tidings', prefix: '' }],
    ['s3://company.tidings/a/b_c', { kind: 's3', bucket: 'company.tidings', prefix: 'a/b_c' }],
    ['file:relative/dir', { kind: 'file', directory: 'relative/dir' }],
  ])('may contain BLOB_STORE=%s, which is parsed to a bucket or a directory', (text, location) => {
    expect(readEnvironment(CommonEnvironment, { ...REQUIRED, BLOB_STORE: text }).BLOB_STORE).toEqual(
      location,
    );
  });

  it('has the default value for an empty variable, and is rejected if a required variable is empty', () => {
    expect(
      readEnvironment(WorkerEnvironment, { ...REQUIRED, WORKER_PORT: '', SEND_ON_UNKNOWN: '' }),
    ).toMatchObject({
      WORKER_PORT: 3001,
      SEND_ON_UNKNOWN: 'hold',
    });
    expect(faultsOf(CommonEnvironment, { ...REQUIRED, UPSTREAM_API_KEY: '' })).toEqual([
      'UPSTREAM_API_KEY is required, for example UPSTREAM_API_KEY=the-key-of-your-account',
    ]);
  });

  it('is rejected if the max poll interval is below the min poll interval, even if one of the two is a default', () => {
    const interval = (min: string, max = ''): Record<string, string> => ({
      ...REQUIRED,
      POLL_MIN_INTERVAL_MS: min,
      POLL_MAX_INTERVAL_MS: max,
    });
    expect(faultsOf(WorkerEnvironment, interval('400', '300'))).toEqual([
      'POLL_MAX_INTERVAL_MS must not be below POLL_MIN_INTERVAL_MS, which is 400, for example POLL_MAX_INTERVAL_MS=400',
    ]);
    expect(faultsOf(WorkerEnvironment, interval('300001'))).toHaveLength(1);
    expect(faultsOf(WorkerEnvironment, interval('400', '400'))).toEqual([]);
    expect(faultsOf(WorkerEnvironment, interval('400', 'x'))).toEqual([
      expect.stringContaining('POLL_MAX_INTERVAL_MS must be a whole number'),
    ]);
  });

  it('may contain variables that the process does not declare, with any values', () => {
    expect(faultsOf(CommonEnvironment, { ...REQUIRED, PATH: '/bin', HOST: '\u0000' })).toEqual([]);
  });

  it.each([
    ['REDIS_URL', 'localhost:6379', 'redis://127.0.0.1:6379'],
    ['REDIS_KEY_PREFIX', 'a:b', 'tidings'],
    ['REDIS_KEY_PREFIX', '{tag}', 'tidings'],
    ['ENCRYPTION_KEY', Buffer.alloc(31).toString('base64'), '$(openssl rand -base64 32)'],
    ['ENCRYPTION_KEY', `${KEY}!`, '$(openssl rand -base64 32)'],
    ['UPSTREAM_BASE_URL', 'ftp://host/v1', 'https://messages.example.com/v1'],
    ['UPSTREAM_BASE_URL', 'https://host/v1?key=x', 'https://messages.example.com/v1'],
    ['UPSTREAM_BASE_URL', 'https://host/v1?', 'https://messages.example.com/v1'],
    ['UPSTREAM_BASE_URL', 'https://host/v1#', 'https://messages.example.com/v1'],
    ['UPSTREAM_BASE_URL', 'host/v1', 'https://messages.example.com/v1'],
    ['UPSTREAM_BASE_URL', 'https://name:password@host/v1', 'https://messages.example.com/v1'],
    ['UPSTREAM_API_KEY', '“key”', 'the-key-of-your-account'],
    ['UPSTREAM_API_KEY', 'key\nX-Evil: 1', 'the-key-of-your-account'],
    ['UPSTREAM_TIMEOUT_MS', '10s', '10000'],
    ['UPSTREAM_TIMEOUT_MS', '0', '10000'],
    ['UPSTREAM_TIMEOUT_MS', '1e3', '10000'],
    ['UPSTREAM_TIMEOUT_MS', '2147483648', '10000'],
    ['UPSTREAM_REQUESTS_PER_SECOND', '0', '10'],
    ['UPSTREAM_REQUESTS_PER_SECOND', '-1', '10'],
    ['UPSTREAM_REQUESTS_PER_SECOND', 'Infinity', '10'],
    ['WORKER_PORT', '65536', '3001'],
    ['WORKER_ROLES', 'relay,polling', 'relay,poll,dispatch'],
    ['POLL_BASELINE', 'loud', 'silent'],
    ['SEND_RETRY_SCHEDULE_SECONDS', '1,,5', '1,5,30,120,600'],
    ['SEND_RETRY_SCHEDULE_SECONDS', '1;5', '1,5,30,120,600'],
    ['SEND_SAFE_STATUSES', '429,99', '429,503'],
    ['SEND_ON_UNKNOWN', 'Resend', 'hold'],
    ['WEBHOOK_ALLOW_NETWORKS', '10.0.0.0', '10.0.0.0/8,fd00::/8'],
    ['BLOB_STORE', '/var/blobs', 'file:.data/blobs'],
    ['BLOB_STORE', 'file:', 'file:.data/blobs'],
    ['BLOB_STORE', 's3:bucket', 'file:.data/blobs'],
    ['BLOB_STORE', 's3://', 'file:.data/blobs'],
    ['BLOB_STORE', 's3://Bucket/x', 'file:.data/blobs'],
    ['BLOB_STORE', 's3://bucket/a//b', 'file:.data/blobs'],
    ['BLOB_STORE', 's3://bucket/../b', 'file:.data/blobs'],
    ['BLOB_STORE', 's3://key:secret@bucket/a', 'file:.data/blobs'],
    ['AWS_ENDPOINT_URL_S3', 's3.example.com', 'https://s3.example.com'],
    ['LOG_LEVEL', 'INFO', 'info'],
    ['UPSTREAM_REQUESTS_PER_SECOND', '1e-300', '10'],
    ['WEBHOOK_DISABLE_AFTER_HOURS', '1e300', '120'],
  ])(
    'is rejected if it contains %s=%p; the error is one line with the name, the fault and an example',
    (name, text, example) => {
      const faults = faultsOf(WorkerEnvironment, { ...REQUIRED, [name]: text });
      expect(faults).toHaveLength(1);
      expect(faults[0]?.startsWith(`${name} must be `)).toBe(true);
      expect(faults[0]?.endsWith(`, for example ${name}=${example}`)).toBe(true);
      expect(faults[0]).not.toContain('\n');
    },
  );

  it('is rejected with a list of all faults, which does not contain the values of secrets', () => {
    const faults = faultsOf(GatewayEnvironment, {
      REDIS_URL: 'nonsense',
      ENCRYPTION_KEY: 'short-secret',
      API_KEY: 'short-key',
      PORT: 'x',
    });
    expect(faults.map((fault) => fault.split(' ')[0]).sort()).toEqual(
      ['API_KEY', 'ENCRYPTION_KEY', 'PORT', 'REDIS_URL', 'UPSTREAM_API_KEY', 'UPSTREAM_BASE_URL'].sort(),
    );
    expect(faults.join('\n')).not.toMatch(/short-/);
    expect(new ConfigurationError(faults).message.split('\n')).toHaveLength(6);
    expect(ConfigurationError.exitCode).toBe(78);
  });

  it.each([
    ['API_KEY', 'a-long-random-key', 'ключ-из-шестнадцати-букв'],
    ['API_KEY', 'a-long-random-key', '“a-key-of-sixteen-characters”'],
    ['API_KEY', 'a-long-random-key', 'a-short-key    '],
    ['METRICS_TOKEN', 'a-long-random-token', 'a-token-of-sixteen-characters…'],
  ])('is rejected if %s is too short or can never match a header of a request', (name, example, text) => {
    expect(faultsOf(GatewayEnvironment, { ...GATEWAY, [name]: text })).toEqual([
      `${name} must be text of at least 16 printable ASCII characters, for example ${name}=${example}`,
    ]);
  });

  it.each(['API_KEY', 'METRICS_TOKEN'] as const)(
    'may contain in %s any text of at least 16 characters that is valid in a header; spaces before and after the text are removed',
    (name) => {
      for (const text of ['a key of "16" characters!', 'ein-schlüssel-in-latin-1'])
        expect(readEnvironment(GatewayEnvironment, { ...GATEWAY, [name]: ` ${text} ` })[name]).toBe(text);
    },
  );

  it('must contain API_KEY for the gateway; for the worker, API_KEY is optional', () => {
    expect(faultsOf(GatewayEnvironment, REQUIRED)).toEqual([
      'API_KEY is required, for example API_KEY=a-long-random-key',
    ]);
    expect(faultsOf(WorkerEnvironment, REQUIRED)).toEqual([]);
  });
});
