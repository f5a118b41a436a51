import { type Network, parseNetworks } from './network.js';
import type { RedisAddress } from './redis-address.js';
import { WORKER_ROLES, type WorkerRole } from './worker-roles.js';
import type { BlobLocation } from './blob-location.js';
import { TRACE_SAMPLERS, type SamplerName } from './samplers.js';
import {
  SecretBytes,
  SecretBytesList,
  BlobStoreLocation,
  RequestHeaderSecret,
  CommaSeparatedWords,
  DecimalNumber,
  Description,
  SentHeaderSecret,
  HttpAddress,
  Integer,
  IntegerList,
  IpNetworks,
  NotBelowVariable,
  OneOf,
  RedisKeyPrefix,
  RedisUrl,
  HttpAddressWithoutCredentials,
  Text,
  WebOrigins,
} from './variable.js';

/**
 * Environment variables of every process that reads the stored secrets. `npm run docs:configuration` generates
 * docs/configuration.md from the classes in this file.
 */
export class SecretsEnvironment {
  @Description(
    'Address of Redis: one server, Sentinel or a Cluster. `npm start` sets it to its embedded Redis.',
  )
  @RedisUrl()
  REDIS_URL!: RedisAddress;
  @Description('First part of every Redis key.')
  @RedisKeyPrefix('tidings')
  REDIS_KEY_PREFIX = 'tidings';
  @Description(
    'Encrypts stored secrets: upstream keys, signing secrets and headers of webhooks. `npm start` creates one under `.data/`.',
  )
  @SecretBytes(32)
  ENCRYPTION_KEY!: Buffer;
  @Description(
    'Earlier encryption keys. They decrypt stored secrets but encrypt no new ones. See [Rotate the encryption key](operations.md#rotate-the-encryption-key).',
  )
  @SecretBytesList(32)
  ENCRYPTION_KEYS_PREVIOUS: Buffer[] = [];
  @Description('Lowest level that is logged.')
  @OneOf('info', 'debug', 'trace', 'warn', 'error', 'fatal', 'silent')
  LOG_LEVEL = 'info';
}

/** Environment variables of both the gateway and the worker. */
export class CommonEnvironment extends SecretsEnvironment {
  @Description(
    'Base address of the messaging service of the account `default`, including its path such as `/v1`. `npm start` sets it to the simulator.',
  )
  @HttpAddressWithoutCredentials('https://messages.example.com/v1')
  UPSTREAM_BASE_URL!: string;
  @Description('API key of the account `default` at its messaging service.')
  @SentHeaderSecret('the-key-of-your-account')
  UPSTREAM_API_KEY!: string;
  @Description('Time that upstream may take for one request and its whole reply.')
  @Integer(10_000, 1)
  UPSTREAM_TIMEOUT_MS = 10_000;
  @Description(
    'Request budget of one account over all processes: in any t seconds at most rate × t + max(rate, 1) requests are sent. Sends and their look-ups take precedence over reads of callers, and reads of callers over polls. Polls always get a fifth of the budget.',
  )
  @DecimalNumber(10, 0.01, 1_000_000)
  UPSTREAM_REQUESTS_PER_SECOND = 10;

  @Description('Time for which an event is kept.')
  @Integer(168, 1, 87_600)
  EVENT_RETENTION_HOURS = 168;

  @Description(
    'Private networks that webhooks may reach, also with `http://`: the networks of your webhook receivers. `npm start` sets `127.0.0.0/8,::1/128`.',
  )
  @IpNetworks('10.0.0.0/8,fd00::/8')
  WEBHOOK_ALLOW_NETWORKS: Network[] = [];

  @Description(
    'Where an uploaded file waits for its relay: a directory that gateways and workers share, or an S3 bucket. Only one installation may use it.',
  )
  @BlobStoreLocation()
  BLOB_STORE: BlobLocation = { kind: 'file', directory: '.data/blobs' };
  /**
   * The S3 client itself reads `AWS_ENDPOINT_URL_S3` and `AWS_ENDPOINT_URL` from the environment. Tidings declares
   * the two variables only to validate them, and to find out whether one of them is set.
   */
  @Description('Address of an S3 server other than Amazon’s. The bucket name is then part of the path.')
  @HttpAddress('https://s3.example.com')
  AWS_ENDPOINT_URL_S3 = '';
  @Description('Address for all services of AWS. `AWS_ENDPOINT_URL_S3` takes precedence.')
  @HttpAddress('https://s3.example.com')
  AWS_ENDPOINT_URL = '';
  @Description(
    'Whether conversations are kept: `off` removes their rows and previews, and `/v1/conversations` answers 404.',
  )
  @OneOf('on', 'off')
  CONVERSATIONS: 'on' | 'off' = 'on';
  @Description(
    'Networks that may read `/metrics`. For a request with a header that proxies add, such as `X-Forwarded-For`, the network does not count. A proxy on the same machine must therefore add such a header.',
  )
  @IpNetworks('10.0.0.0/8,fd00::/8')
  METRICS_ALLOW_NETWORKS: Network[] = parseNetworks('127.0.0.0/8,::1/128');
  @Description(
    'Token that may read `/metrics` from everywhere, as `Authorization: Bearer <token>`. An API key with the scope `admin` may do so too.',
  )
  @RequestHeaderSecret('a-long-random-token')
  METRICS_TOKEN = '';
  @Description(
    'Address of an OpenTelemetry collector, which receives the traces over OTLP (HTTP, protobuf). Empty: no traces. `OTEL_EXPORTER_OTLP_HEADERS` adds headers, for example a key.',
  )
  @HttpAddress('http://collector:4318')
  OTEL_EXPORTER_OTLP_ENDPOINT = '';
  @Description(
    'Which traces are recorded, as OpenTelemetry defines it. The default records all, unless the caller’s `traceparent` says otherwise.',
  )
  @OneOf(...TRACE_SAMPLERS)
  OTEL_TRACES_SAMPLER: SamplerName = 'parentbased_always_on';
  @Description(
    'Share of the traces that the samplers `traceidratio` and `parentbased_traceidratio` record, from 0 to 1.',
  )
  @DecimalNumber(0.01, 0, 1)
  OTEL_TRACES_SAMPLER_ARG = 1;
}

/** Environment variables of the gateway, including those that it shares with the worker. */
export class GatewayEnvironment extends CommonEnvironment {
  @Description(
    'The first API key. It belongs to the account `default` and has every scope. `npm start` creates and prints one.',
  )
  @RequestHeaderSecret('a-long-random-key')
  API_KEY!: string;
  @Description('Address on which the gateway listens; `0.0.0.0` in the Docker image.')
  @Text('127.0.0.1')
  HOST = '127.0.0.1';
  @Description('Port of the gateway; 0 selects a free port.')
  @Integer(3000, 0, 65_535)
  PORT = 3000;
  @Description('Max size of one file of a send.')
  @Integer(26_214_400, 1)
  UPLOAD_MAX_BYTES = 26_214_400;
  @Description('Max number of requests of one API key, over all gateways.')
  @Integer(6_000, 1)
  RATE_LIMIT_PER_MINUTE = 6_000;
  @Description(
    'Max number of requests of one token, over all gateways. The requests of a token also count for its API key.',
  )
  @Integer(600, 1)
  TOKEN_RATE_LIMIT_PER_MINUTE = 600;
  @Description(
    'Format of `GET /v1/contacts`: with `contacts`, an object with the list in the field `contacts`; with `upstream`, the body as upstream sends it.',
  )
  @OneOf('contacts', 'upstream')
  CONTACTS_SHAPE: 'contacts' | 'upstream' = 'contacts';
  /**
   * The upper bound of 5 minutes is shorter than the time until a new account can get the id of a removed
   * account. The new account therefore never gets the cached replies of the removed one.
   */
  @Description('Max age of a cached reply to a read; 0 turns the cache off.')
  @Integer(1_000, 0, 300_000)
  READ_CACHE_MS = 1_000;
  @Description('Origins of web pages that may call the API from a browser.')
  @WebOrigins('https://console.example.com,https://app.example.com')
  CORS_ORIGINS: string[] = [];
}

/** Environment variables of the worker, including those that it shares with the gateway. */
export class WorkerEnvironment extends CommonEnvironment {
  @Description('Address on which the worker’s health endpoint listens; `0.0.0.0` in the Docker image.')
  @Text('127.0.0.1')
  WORKER_HOST = '127.0.0.1';
  @Description('Port of the worker’s health endpoint; 0 selects a free port.')
  @Integer(3001, 0, 65_535)
  WORKER_PORT = 3001;
  @Description('The roles of this worker.')
  @CommaSeparatedWords(...WORKER_ROLES)
  WORKER_ROLES: WorkerRole[] = [...WORKER_ROLES];

  @Description('Interval between two reads of the contact list.')
  @Integer(30_000, 100)
  CONTACTS_INTERVAL_MS = 30_000;
  @Description('Min time between two polls of a contact.')
  @Integer(2_000, 10)
  POLL_MIN_INTERVAL_MS = 2_000;
  @Description('Max time between two polls of a contact, as far as the request budget allows.')
  @Integer(300_000, 10)
  @NotBelowVariable('POLL_MIN_INTERVAL_MS')
  POLL_MAX_INTERVAL_MS = 300_000;
  @Description(
    'Time after a message’s timestamp during which Tidings checks whether the flags of the message have changed.',
  )
  @Integer(72, 0, 8_760)
  POLL_SETTLE_HOURS = 72;
  @Description(
    'Interval between two sweeps, which read every message of every contact, as far as the request budget allows.',
  )
  @Integer(86_400_000, 1_000)
  POLL_SWEEP_INTERVAL_MS = 86_400_000;
  @Description(
    'Treatment of messages without a readable timestamp in the first read of a contact: `silent` makes them part of the baseline, `emit` emits them.',
  )
  @OneOf('silent', 'emit')
  POLL_BASELINE: 'silent' | 'emit' = 'silent';

  @Description(
    'Max number of events that are kept per account. An event that is not dispatched yet is never removed.',
  )
  @Integer(1_000_000, 1)
  EVENT_RETENTION_MAX = 1_000_000;

  @Description(
    'Max time until a send is relayed, from its acceptance, its `sendAt`, or its last resend. Then it ends as `expired`, or as `unknown` if upstream may have it.',
  )
  @Integer(86_400, 1)
  SEND_MAX_AGE_SECONDS = 86_400;
  @Description(
    'Waits between the attempts of a send that are safe to repeat. The last wait is repeated until the send expires.',
  )
  @IntegerList('1,5,30,120,600', 0, 86_400)
  SEND_RETRY_SCHEDULE_SECONDS = [1, 5, 30, 120, 600];
  @Description('HTTP statuses with which upstream certainly did not accept a send. Such a send is retried.')
  @IntegerList('429,503', 300, 599, true)
  SEND_SAFE_STATUSES = [429];
  @Description(
    'Time for which an ambiguous send is looked up, and for which the message of an accepted send is awaited. Only time between successful look-ups counts.',
  )
  @Integer(120_000, 1)
  SEND_CONFIRM_MS = 120_000;
  @Description('Replaces `SEND_CONFIRM_MS` for a send with a `file` or `fileUrl`.')
  @Integer(1_200_000, 1)
  SEND_CONFIRM_MEDIA_MS = 1_200_000;
  @Description(
    'Treatment of an ambiguous send that was not found within `SEND_CONFIRM_MS`: `hold` leaves the send `unknown`, `resend` posts the send a second time, but never a third.',
  )
  @OneOf('hold', 'resend')
  SEND_ON_UNKNOWN: 'hold' | 'resend' = 'hold';
  @Description(
    'Time for which a finished send is kept. Sends that stay `accepted` or `unknown` have no limit of age.',
  )
  @Integer(168, 1, 87_600)
  SEND_RETENTION_HOURS = 168;
  @Description(
    'Max number of finished, `accepted` and `unknown` sends that are kept per account. Finished sends are removed first, the oldest first. Before an `accepted` or `unknown` send is removed, its event is emitted once more.',
  )
  @Integer(1_000_000, 1)
  SEND_RETENTION_MAX = 1_000_000;

  @Description('Time limit of one delivery attempt, including the whole response.')
  @Integer(15_000, 1)
  WEBHOOK_TIMEOUT_MS = 15_000;
  @Description(
    'Waits between delivery attempts, each varied by ±20 %. The first success after only failures makes pending deliveries due early, a few at a time.',
  )
  @IntegerList('5,300,1800', 0, 604_800)
  WEBHOOK_RETRY_SCHEDULE_SECONDS = [5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200];
  @Description('A webhook with only failures for this time is disabled, and `webhook.disabled` is emitted.')
  @DecimalNumber(120, 0.001, 87_600)
  WEBHOOK_DISABLE_AFTER_HOURS = 120;
  @Description(
    'Max number of requests in flight to one webhook, over all workers, unless the webhook has its own `maxConcurrency`.',
  )
  @Integer(20, 1, 1000)
  WEBHOOK_MAX_CONCURRENCY = 20;
  @Description('Time for which a finished delivery is kept.')
  @Integer(168, 1, 87_600)
  DELIVERY_RETENTION_HOURS = 168;
  @Description('Max number of finished deliveries that are kept per account.')
  @Integer(1_000_000, 1)
  DELIVERY_RETENTION_MAX = 1_000_000;
}
