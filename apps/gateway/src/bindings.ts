import type { FactoryProvider, Provider, ValueProvider } from '@nestjs/common';
import {
  type Account,
  type AccountDirectory,
  type AccountRegistry,
  type ApiKeyAuthenticator,
  createAccountRegistry,
  createAccountDirectory,
  createApiKeyRegistry,
  createApiKeyAuthenticator,
  createSessionService,
  createTokenService,
  RedisApiKeyStore,
  RedisAuditLog,
  RedisRevocations,
  type SessionService,
  type TokenService,
} from '#accounts';
import {
  createBacklogReader,
  registerClockDifferenceMetric,
  registerRedisCommandMetrics,
  PromMetrics,
  RedisStatsStore,
  type StatsRecorder,
  SendMetrics,
  UpstreamMetrics,
} from '#metrics';
import { RedisConversationChangeSubscriber, RedisConversations } from '#conversations';
import { RedisEventLog, RedisEventLogNotifier } from '#events';
import { AgendaNotifyingFeedStore, RedisVolatileFieldStore } from '#feed';
import {
  type GatewayEnvironment,
  type ProcessInstance,
  type Logger,
  createRedisConnectionErrorLogger,
  createAgendas,
  RedisChannelSubscriber,
  openRedis,
  productVersion,
  type RedisClient,
  type RedisClock,
} from '#platform';
import type { BlobStore, BlobStoreMonitor } from '#blobs';
import {
  BatchedRelayJobs,
  BullmqRelayJobs,
  AgendaNotifyingRelayStore,
  ProbeTriggeringUpstreamHealth,
  RelayJobsWithReconciliation,
  RedisIdempotencyKeys,
  RedisSendList,
  type SendService,
  StoreBackedSendService,
} from '#relay';
import {
  BudgetedUpstream,
  type AdaptiveBudget,
  HttpUpstream,
  RedisRequestBudget,
  RedisRequestRateLimiter,
  type Upstream,
  type UpstreamHealth,
  hashUpstreamAddress,
} from '#upstream';
import type { Tracing } from '#tracing';
import { createHostNameResolver } from '#webhooks';
import { Authenticator } from './auth/authenticator.js';
import { RedisRateLimit } from './auth/rate-limit.js';
import type { ReadableUpstream } from './contacts/upstream-reads.js';
import { timelineBindings } from './conversations/timeline.bindings.js';
import { WAIT_SETTINGS } from './events/wait-settings.js';
import { openHintQueue } from './hint-queue.js';
import { Problem } from './problems/problem.js';
import type { BudgetWatch } from './status/budget-watch.js';
import {
  ACCOUNT_REGISTRY,
  ACCOUNT_UPSTREAM,
  ACCOUNTS,
  API_KEY_REGISTRY,
  API_KEY_USES,
  API_KEYS,
  AUDIT_LOG,
  AUTHENTICATOR,
  BACKLOG,
  BLOB_STORE,
  BLOB_STORE_MONITOR,
  BUDGET_WATCH,
  CONVERSATION_CHANGES,
  CONVERSATIONS,
  ENVIRONMENT,
  EVENT_LOG,
  EVENT_LOG_NOTIFIER,
  EVENT_WAITS,
  FEED,
  INSTANCE,
  LOGGER,
  METRICS,
  RATE_LIMIT,
  READINESS_MAX_AGE_MS,
  REDIS,
  REQUEST_BUDGET,
  REVOCATIONS,
  SEND_SERVICE,
  SEND_LIST,
  SESSIONS,
  SHUTDOWN,
  STATS,
  TOKEN_RATE_LIMIT,
  TOKENS,
  UPSTREAM,
  UPSTREAM_HEALTH,
  VOLATILE_FIELDS,
  CLOCK,
  TOKEN_READ_LIMITER,
} from './tokens.js';
import { webhookBindings } from './webhooks/webhooks.bindings.js';

/** Number of reads of callers with tokens that may be sent to upstream in one burst. */
const TOKEN_READ_BURST = 5;

/** Resources that the process opens before the application is created. */
export interface OpenedResources {
  environment: GatewayEnvironment;
  logger: Logger;
  instance: ProcessInstance;
  redis: RedisClient;
  clock: RedisClock;
  blobs: BlobStore;
  blobStoreMonitor: BlobStoreMonitor;
  stats: StatsRecorder;
  /** Undefined if traces are off. */
  tracing?: Tracing | undefined;
  shutdown: AbortSignal;
}

/** Returns the provider of each token of `tokens.ts`. */
export function bindings(opened: OpenedResources): Provider[] {
  const { environment, logger, redis, clock, shutdown } = opened;
  const prefix = environment.REDIS_KEY_PREFIX;
  const metrics = new PromMetrics('gateway', productVersion());
  const upstreamMetrics = new UpstreamMetrics(metrics, opened.stats);
  const sendMetrics = new SendMetrics(metrics, opened.stats);
  const { poll } = createAgendas(redis, prefix, logger);
  const feed = new AgendaNotifyingFeedStore(redis, prefix, poll.scheduler, environment.CONVERSATIONS);
  const budget = upstreamMetrics.observeBudget(new RedisRequestBudget(redis, prefix));
  registerRedisCommandMetrics(redis, metrics);
  registerClockDifferenceMetric(clock, metrics);
  return [
    value(ENVIRONMENT, environment),
    value(METRICS, metrics),
    value(LOGGER, logger),
    value(INSTANCE, opened.instance),
    value(REDIS, redis),
    value(SHUTDOWN, shutdown),
    value(ACCOUNTS, createAccountDirectory(environment, redis, logger)),
    value(ACCOUNT_REGISTRY, createAccountRegistry(environment, redis, clock)),
    value(API_KEY_REGISTRY, createApiKeyRegistry(environment, redis, clock)),
    value(API_KEY_USES, new RedisApiKeyStore(redis, prefix)),
    value(API_KEYS, createApiKeyAuthenticator(environment, redis)),
    value(TOKENS, createTokenService(environment, redis)),
    value(AUDIT_LOG, new RedisAuditLog(redis, prefix, clock)),
    value(SESSIONS, createSessionService(environment, redis)),
    value(REVOCATIONS, new RedisRevocations(redis, prefix)),
    {
      provide: AUTHENTICATOR,
      inject: [API_KEYS, TOKENS, SESSIONS],
      useFactory: (keys: ApiKeyAuthenticator, tokens: TokenService, sessions: SessionService) =>
        new Authenticator(keys, tokens, sessions),
    },
    value(READINESS_MAX_AGE_MS, 1_000),
    value(RATE_LIMIT, new RedisRateLimit(redis, prefix, environment.RATE_LIMIT_PER_MINUTE)),
    value(TOKEN_RATE_LIMIT, new RedisRateLimit(redis, prefix, environment.TOKEN_RATE_LIMIT_PER_MINUTE)),
    value(BLOB_STORE, opened.blobStoreMonitor.observeUploads(opened.blobs)),
    value(BLOB_STORE_MONITOR, opened.blobStoreMonitor),
    value(CLOCK, clock),
    value(FEED, feed),
    value(CONVERSATIONS, new RedisConversations(redis, prefix)),
    value(VOLATILE_FIELDS, new RedisVolatileFieldStore(redis, prefix)),
    value(EVENT_LOG, new RedisEventLog(redis, prefix)),
    value(EVENT_LOG_NOTIFIER, notifierOf(opened)),
    value(CONVERSATION_CHANGES, new RedisConversationChangeSubscriber(subscriberOf(opened), prefix)),
    value(EVENT_WAITS, WAIT_SETTINGS),
    value(REQUEST_BUDGET, budget),
    value<BudgetWatch>(BUDGET_WATCH, budget),
    value(UPSTREAM, upstreamMetrics.observe(new HttpUpstream(environment.UPSTREAM_TIMEOUT_MS))),
    value(UPSTREAM_HEALTH, healthOf(opened)),
    readsBinding(logger),
    value(TOKEN_READ_LIMITER, new RedisRequestRateLimiter(redis, prefix, 'token-reads', TOKEN_READ_BURST)),
    {
      provide: SEND_SERVICE,
      inject: [ACCOUNT_REGISTRY],
      useFactory: (accounts: AccountRegistry) => sendsOf(opened, accounts, sendMetrics),
    },
    value(SEND_LIST, new RedisSendList(redis, prefix)),
    value(STATS, new RedisStatsStore(redis, prefix)),
    value(BACKLOG, createBacklogReader(redis, prefix)),
    ...timelineBindings(redis, prefix),
    ...webhookBindings({ environment, redis, logger, clock, resolver: createHostNameResolver() }),
  ];
}

/**
 * Builds the upstream of callers' reads. Each part has its own injection token, so that a test can replace a single
 * part.
 */
function readsBinding(logger: Logger): FactoryProvider<ReadableUpstream> {
  return {
    provide: ACCOUNT_UPSTREAM,
    inject: [UPSTREAM, ACCOUNTS, REQUEST_BUDGET, UPSTREAM_HEALTH],
    useFactory: (
      upstream: Upstream,
      accounts: AccountDirectory,
      budget: AdaptiveBudget,
      health: UpstreamHealth,
    ) => new BudgetedUpstream(upstream, (id) => accountOfKey(accounts, id), budget, health, logger),
  };
}

async function accountOfKey(accounts: AccountDirectory, id: string): Promise<Account> {
  const account = await accounts.find(id);
  // The account was removed after its API key was authenticated.
  if (account === undefined) throw new Problem('unauthenticated', 'Invalid API key.');
  return account;
}

function notifierOf({ environment, logger }: OpenedResources): RedisEventLogNotifier {
  const prefix = environment.REDIS_KEY_PREFIX;
  return new RedisEventLogNotifier(
    new RedisChannelSubscriber(subscriberOf({ environment, logger }), prefix),
    prefix,
  );
}

/** Returns a function that opens a connection for subscriptions. */
function subscriberOf({
  environment,
  logger,
}: Pick<OpenedResources, 'environment' | 'logger'>): () => RedisClient {
  return () => openRedis(environment.REDIS_URL, 'patient', createRedisConnectionErrorLogger(logger));
}

function sendsOf(
  { environment, logger, redis, clock, blobs }: OpenedResources,
  accounts: Pick<AccountRegistry, 'find'>,
  sendMetrics: SendMetrics,
): SendService {
  const prefix = environment.REDIS_KEY_PREFIX;
  const { relay, schedule } = createAgendas(redis, prefix, logger);
  const jobs = new BatchedRelayJobs(
    new BullmqRelayJobs(openHintQueue('relay', redis, prefix, logger), logger),
  );
  const schedulers = { relay: relay.scheduler, schedule: schedule.scheduler };
  return new StoreBackedSendService(
    sendMetrics.observeStore(
      new AgendaNotifyingRelayStore(
        redis,
        prefix,
        clock,
        blobs,
        logger,
        schedulers,
        environment.CONVERSATIONS,
      ),
    ),
    new RedisIdempotencyKeys(redis, prefix),
    new RelayJobsWithReconciliation(jobs, relay.scheduler),
    async (account) => {
      const found = await accounts.find(account);
      return found === undefined ? undefined : hashUpstreamAddress(found.baseUrl);
    },
  );
}

function healthOf({ environment, logger, redis }: OpenedResources): UpstreamHealth {
  const prefix = environment.REDIS_KEY_PREFIX;
  const { poll, relay } = createAgendas(redis, prefix, logger);
  return new ProbeTriggeringUpstreamHealth(redis, prefix, [poll.scheduler, relay.scheduler]);
}

function value<T>(token: symbol, useValue: T): ValueProvider<T> {
  return { provide: token, useValue };
}
