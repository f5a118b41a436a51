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
  Meaning,
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

/**
 * Environment variables of all processes. `npm run docs:configuration` generates docs/configuration.md from these
 * classes.
 */
export class CommonEnvironment {
  @Meaning('Address of Redis: one server, Sentinel or a Cluster. `npm start` sets it to its embedded Redis.')
  @RedisLocation()
  REDIS_URL!: RedisAddress;
  @Meaning('First part of every Redis key.')
  @KeyPrefix('tidings')
  REDIS_KEY_PREFIX = 'tidings';
  @Meaning(
    'Encrypts stored secrets: upstream keys, signing secrets and headers of webhooks. `npm start` creates one under `.data/`.',
  )
  @Base64Bytes(32)
  ENCRYPTION_KEY!: Buffer;
  @Meaning(
    'Earlier encryption keys. They decrypt stored secrets but encrypt no new ones. See [Rotate the encryption key](operations.md#rotate-the-encryption-key).',
  )
  @Base64BytesList(32)
  ENCRYPTION_KEYS_PREVIOUS: Buffer[] = [];

  @Meaning(
    'Base address of the messaging service of the account `default`, including its path such as `/v1`. `npm start` sets it to the simulator.',
  )
  @HttpAddress('https://messages.example.com/v1')
  UPSTREAM_BASE_URL!: string;
  @Meaning('API key of the account `default` at its messaging service.')
  @Text('the-key-of-your-account')
  UPSTREAM_API_KEY!: string;
  @Meaning('Deadline of one complete exchange with upstream, including its bodies.')
  @Whole(10_000, 1)
  UPSTREAM_TIMEOUT_MS = 10_000;
  @Meaning(
    'Request budget of one account over all processes: in any t seconds at most rate × t + max(rate, 1) requests leave. Sends and their look-ups take precedence over reads of callers, and these over polls, which always get a fifth.',
  )
  @Positive(10)
  UPSTREAM_REQUESTS_PER_SECOND = 10;

  @Meaning('Time for which an event is kept.')
  @Whole(168, 1, 87_600)
  EVENT_RETENTION_HOURS = 168;
  @Meaning(
    'Max number of events that are kept per account. An event that is not dispatched yet is never removed.',
  )
  @Whole(1_000_000, 1)
  EVENT_RETENTION_MAX = 1_000_000;
  @Meaning('Max age of a send. A send that is not relayed by then ends as `expired`.')
  @Whole(86_400, 1)
  SEND_MAX_AGE_SECONDS = 86_400;

  @Meaning(
    'Private networks that webhooks may reach, also with `http://`: the networks of your webhook receivers. `npm start` sets `127.0.0.0/8,::1/128`.',
  )
  @Networks('10.0.0.0/8,fd00::/8')
  WEBHOOK_ALLOW_NETWORKS: Network[] = [];

  @Meaning(
    'Where an uploaded file waits for its relay: a directory that gateways and workers share, or an S3 bucket. Only one installation may use it.',
  )
  @BlobStoreLocation()
  BLOB_STORE: BlobLocation = { kind: 'file', directory: '.data/blobs' };
  /**
   * The S3 client reads these two variables itself, like other AWS variables. Tidings only checks whether they are
   * set.
   */
  @Meaning('Address of an S3 server other than Amazon’s. The bucket name is then part of the path.')
  @HttpAddress('https://s3.example.com')
  AWS_ENDPOINT_URL_S3 = '';
  @Meaning('Address for all services of AWS. `AWS_ENDPOINT_URL_S3` takes precedence.')
  @HttpAddress('https://s3.example.com')
  AWS_ENDPOINT_URL = '';
  @Meaning('Lowest level that is logged.')
  @OneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
  LOG_LEVEL = 'info';
}

/** Environment variables of the gateway. */
export class GatewayEnvironment extends CommonEnvironment {
  @Meaning(
    'The first API key. It belongs to the account `default` and has every scope. `npm start` creates and prints one.',
  )
  @Text('a-long-random-key', 16)
  API_KEY!: string;
  @Meaning('Address on which the gateway listens; `0.0.0.0` in the Docker image.')
  @Text('127.0.0.1')
  HOST = '127.0.0.1';
  @Meaning('Port of the gateway; 0 selects a free port.')
  @Whole(3000, 0, 65_535)
  PORT = 3000;
  @Meaning('Max size of one file of a send.')
  @Whole(26_214_400, 1)
  UPLOAD_MAX_BYTES = 26_214_400;
  @Meaning('Max number of requests of one API key, over all gateways.')
  @Whole(6_000, 1)
  RATE_LIMIT_PER_MINUTE = 6_000;
  @Meaning(
    'Format of `GET /v1/contacts`: with `contacts`, an object with the list in the field `contacts`; with `upstream`, the body as upstream sends it.',
  )
  @OneOf('contacts', 'upstream')
  CONTACTS_SHAPE: 'contacts' | 'upstream' = 'contacts';
  /** The upper bound is shorter than the time until the id of a removed account can be given to a new account. */
  @Meaning('Max age of a cached reply to a read; 0 turns the cache off.')
  @Whole(1_000, 0, 300_000)
  READ_CACHE_MS = 1_000;
  @Meaning('Origins of web pages that may call the API from a browser.')
  @Origins('https://console.example.com,https://app.example.com')
  CORS_ORIGINS: string[] = [];
}

/** Environment variables of the worker. */
export class WorkerEnvironment extends CommonEnvironment {
  @Meaning('Address on which the worker’s health endpoint listens; `0.0.0.0` in the Docker image.')
  @Text('127.0.0.1')
  WORKER_HOST = '127.0.0.1';
  @Meaning('Port of the worker’s health endpoint; 0 selects a free port.')
  @Whole(3001, 0, 65_535)
  WORKER_PORT = 3001;
  @Meaning('The roles of this worker.')
  @SomeOf(...WORKER_ROLES)
  WORKER_ROLES: WorkerRole[] = [...WORKER_ROLES];

  @Meaning('Interval between two reads of the contact list.')
  @Whole(30_000, 100)
  CONTACTS_INTERVAL_MS = 30_000;
  @Meaning('Min time between two polls of a contact.')
  @Whole(2_000, 10)
  POLL_MIN_INTERVAL_MS = 2_000;
  @Meaning('Max time between two polls of a contact, as far as the request budget allows.')
  @Whole(300_000, 10)
  @NotBelow('POLL_MIN_INTERVAL_MS')
  POLL_MAX_INTERVAL_MS = 300_000;
  @Meaning('Time for which changes of a message’s flags are looked up.')
  @Whole(72, 0, 8_760)
  POLL_SETTLE_HOURS = 72;
  @Meaning(
    'Interval between two sweeps, which read every message of every contact, as far as the request budget allows.',
  )
  @Whole(86_400_000, 1_000)
  POLL_SWEEP_INTERVAL_MS = 86_400_000;
  @Meaning(
    'Treatment of messages without a readable timestamp in the first read of a contact: `silent` makes them part of the baseline, `emit` emits them.',
  )
  @OneOf('silent', 'emit')
  POLL_BASELINE: 'silent' | 'emit' = 'silent';

  @Meaning(
    'Waits between the attempts of a send that are safe to repeat. The last wait is repeated until the send expires.',
  )
  @WholeList('1,5,30,120,600', 0, 86_400)
  SEND_RETRY_SCHEDULE_SECONDS = [1, 5, 30, 120, 600];
  @Meaning('HTTP statuses with which upstream certainly did not accept a send. Such a send is retried.')
  @WholeList('429,503', 300, 599, true)
  SEND_SAFE_STATUSES = [429];
  @Meaning(
    'Time for which an ambiguous send is looked up, and for which the message of an accepted send is awaited. Only time between successful look-ups counts.',
  )
  @Whole(120_000, 1)
  SEND_CONFIRM_MS = 120_000;
  @Meaning('Replaces `SEND_CONFIRM_MS` for a send with a file.')
  @Whole(1_200_000, 1)
  SEND_CONFIRM_MEDIA_MS = 1_200_000;
  @Meaning(
    'Treatment of an ambiguous send that was not found within `SEND_CONFIRM_MS`: `hold` leaves the send `unknown`, `resend` posts the send a second time, but never a third.',
  )
  @OneOf('hold', 'resend')
  SEND_ON_UNKNOWN: 'hold' | 'resend' = 'hold';
  @Meaning('Time for which a finished send is kept.')
  @Whole(168, 1, 87_600)
  SEND_RETENTION_HOURS = 168;
  @Meaning('Max number of finished sends that are kept per account. The oldest are removed first.')
  @Whole(1_000_000, 1)
  SEND_RETENTION_MAX = 1_000_000;

  @Meaning('Deadline of one delivery attempt, including its bodies.')
  @Whole(15_000, 1)
  WEBHOOK_TIMEOUT_MS = 15_000;
  @Meaning(
    'Waits between delivery attempts, each varied by ±20 %. The first success after only failures makes pending deliveries due early, a few at a time.',
  )
  @WholeList('5,300,1800', 0, 604_800)
  WEBHOOK_RETRY_SCHEDULE_SECONDS = [5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200];
  @Meaning('A webhook with only failures for this time is disabled, and `webhook.disabled` is emitted.')
  @Positive(120)
  WEBHOOK_DISABLE_AFTER_HOURS = 120;
  @Meaning(
    'Max number of requests in flight to one webhook, over all workers, unless the webhook has its own `maxConcurrency`.',
  )
  @Whole(20, 1, 1000)
  WEBHOOK_MAX_CONCURRENCY = 20;
  @Meaning('Time for which a finished delivery is kept.')
  @Whole(168, 1, 87_600)
  DELIVERY_RETENTION_HOURS = 168;
  @Meaning('Max number of finished deliveries that are kept per account.')
  @Whole(1_000_000, 1)
  DELIVERY_RETENTION_MAX = 1_000_000;
}
