import type { Network } from './network.js';
import type { RedisAddress } from './redis-address.js';
import { WORKER_ROLES, type WorkerRole } from './worker-roles.js';
import type { BlobLocation } from './blob-location.js';
import {
  Base64Bytes,
  Base64BytesList,
  BlobStoreLocation,
  HttpAddress,
  KeyPrefix,
  Networks,
  NotBelow,
  OneOf,
  Origins,
  Positive,
  RedisLocation,
  SomeOf,
  Text,
  Whole,
  WholeList,
} from './variable.js';

/** What every process of the product reads. Names, defaults and units are those of the README's table. */
export class CommonEnvironment {
  @RedisLocation() REDIS_URL!: RedisAddress;
  @KeyPrefix('tidings') REDIS_KEY_PREFIX = 'tidings';
  @Base64Bytes(32) ENCRYPTION_KEY!: Buffer;
  @Base64BytesList(32) ENCRYPTION_KEYS_PREVIOUS: Buffer[] = [];

  @HttpAddress('https://messages.example.com/v1') UPSTREAM_BASE_URL!: string;
  @Text('the-key-of-your-account') UPSTREAM_API_KEY!: string;
  @Whole(10_000, 1) UPSTREAM_TIMEOUT_MS = 10_000;
  @Positive(10) UPSTREAM_REQUESTS_PER_SECOND = 10;

  @Whole(168, 1, 87_600) EVENT_RETENTION_HOURS = 168;
  @Whole(1_000_000, 1) EVENT_RETENTION_MAX = 1_000_000;
  @Whole(86_400, 1) SEND_MAX_AGE_SECONDS = 86_400;

  @Networks('10.0.0.0/8,fd00::/8') WEBHOOK_ALLOW_NETWORKS: Network[] = [];

  @BlobStoreLocation() BLOB_STORE: BlobLocation = { kind: 'file', directory: '.data/blobs' };
  /** The S3 client reads these two itself, with the other variables of AWS; here they only say that there is one. */
  @HttpAddress('https://s3.example.com') AWS_ENDPOINT_URL_S3 = '';
  @HttpAddress('https://s3.example.com') AWS_ENDPOINT_URL = '';
  @OneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent') LOG_LEVEL = 'info';
}

/** What the gateway reads besides. */
export class GatewayEnvironment extends CommonEnvironment {
  @Text('a-long-random-key', 16) API_KEY!: string;
  @Text('127.0.0.1') HOST = '127.0.0.1';
  @Whole(3000, 0, 65_535) PORT = 3000;
  @Whole(26_214_400, 1) UPLOAD_MAX_BYTES = 26_214_400;
  @Whole(6_000, 1) RATE_LIMIT_PER_MINUTE = 6_000;
  @OneOf('contacts', 'upstream') CONTACTS_SHAPE: 'contacts' | 'upstream' = 'contacts';
  /** Less than it takes until the id of a removed account can be another's. */
  @Whole(1_000, 0, 300_000) READ_CACHE_MS = 1_000;
  @Origins('https://console.example.com,https://app.example.com') CORS_ORIGINS: string[] = [];
}

/** What a worker reads besides. */
export class WorkerEnvironment extends CommonEnvironment {
  @Text('127.0.0.1') WORKER_HOST = '127.0.0.1';
  @Whole(3001, 0, 65_535) WORKER_PORT = 3001;
  @SomeOf(...WORKER_ROLES) WORKER_ROLES: WorkerRole[] = [...WORKER_ROLES];

  @Whole(30_000, 100) CONTACTS_INTERVAL_MS = 30_000;
  @Whole(2_000, 10) POLL_MIN_INTERVAL_MS = 2_000;
  @Whole(300_000, 10) @NotBelow('POLL_MIN_INTERVAL_MS') POLL_MAX_INTERVAL_MS = 300_000;
  @Whole(72, 0, 8_760) POLL_SETTLE_HOURS = 72;
  @Whole(86_400_000, 1_000) POLL_SWEEP_INTERVAL_MS = 86_400_000;
  @OneOf('silent', 'emit') POLL_BASELINE: 'silent' | 'emit' = 'silent';

  @WholeList('1,5,30,120,600', 0, 86_400) SEND_RETRY_SCHEDULE_SECONDS = [1, 5, 30, 120, 600];
  @WholeList('429,503', 300, 599, true) SEND_SAFE_STATUSES = [429];
  @Whole(120_000, 1) SEND_CONFIRM_MS = 120_000;
  @Whole(1_200_000, 1) SEND_CONFIRM_MEDIA_MS = 1_200_000;
  @OneOf('hold', 'resend') SEND_ON_UNKNOWN: 'hold' | 'resend' = 'hold';
  @Whole(168, 1, 87_600) SEND_RETENTION_HOURS = 168;
  @Whole(1_000_000, 1) SEND_RETENTION_MAX = 1_000_000;

  @Whole(15_000, 1) WEBHOOK_TIMEOUT_MS = 15_000;
  @WholeList('5,300,1800', 0, 604_800) WEBHOOK_RETRY_SCHEDULE_SECONDS = [
    5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200,
  ];
  @Positive(120) WEBHOOK_DISABLE_AFTER_HOURS = 120;
  @Whole(20, 1, 1000) WEBHOOK_MAX_CONCURRENCY = 20;
  @Whole(168, 1, 87_600) DELIVERY_RETENTION_HOURS = 168;
  @Whole(1_000_000, 1) DELIVERY_RETENTION_MAX = 1_000_000;
}
