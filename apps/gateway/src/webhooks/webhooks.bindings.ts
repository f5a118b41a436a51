import type { ValueProvider } from '@nestjs/common';
import { SecretCipher } from '#accounts';
import { RedisEventLog } from '#events';
import { type Clock, type GatewayEnvironment, type Logger, createAgendas, type RedisClient } from '#platform';
import {
  BullmqDeliveryJobs,
  DeliveryManager,
  WebhookUrlChecker,
  DestinationGuard,
  EndpointManager,
  EndpointSecretManager,
  TestEventSender,
  DeliveryJobsWithReconciliation,
  RedisDeliveriesOverviewReader,
  RedisDeliveryStore,
  RedisEndpointHealth,
  RedisEndpointStore,
  EventReplayer,
  SingleEventDeliverer,
  type Resolver,
} from '#webhooks';
import { openHintQueue } from '../hint-queue.js';
import {
  DELIVERIES,
  DELIVERIES_WATCH,
  ENDPOINT_HEALTH,
  ENDPOINT_REGISTRY,
  ENDPOINT_SECRET_MANAGER,
  ENDPOINT_TEST,
  REPLAYS,
  REQUESTED_DELIVERIES,
} from '../tokens.js';

/** Dependencies of the webhook services. */
export interface WebhookParts {
  environment: GatewayEnvironment;
  redis: RedisClient;
  logger: Logger;
  clock: Clock;
  resolver: Resolver;
}

/** Returns the providers of the webhook tokens of `tokens.ts`. */
export function webhookBindings({
  environment,
  redis,
  logger,
  clock,
  resolver,
}: WebhookParts): ValueProvider[] {
  const prefix = environment.REDIS_KEY_PREFIX;
  const store = new RedisEndpointStore(redis, prefix, clock);
  const deliveries = new RedisDeliveryStore(redis, prefix);
  const log = new RedisEventLog(redis, prefix);
  const check = new WebhookUrlChecker(new DestinationGuard(environment.WEBHOOK_ALLOW_NETWORKS), resolver);
  const cipher = new SecretCipher(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS);
  const jobs = new DeliveryJobsWithReconciliation(
    new BullmqDeliveryJobs(openHintQueue('deliveries', redis, prefix, logger)),
    createAgendas(redis, prefix, logger).dispatch.scheduler,
  );
  return [
    {
      provide: ENDPOINT_REGISTRY,
      useValue: new EndpointManager(store, deliveries, check, cipher, clock, jobs, logger),
    },
    { provide: ENDPOINT_HEALTH, useValue: new RedisEndpointHealth(redis, prefix) },
    { provide: ENDPOINT_SECRET_MANAGER, useValue: new EndpointSecretManager(store, cipher, clock) },
    { provide: ENDPOINT_TEST, useValue: new TestEventSender(store, log) },
    { provide: DELIVERIES, useValue: new DeliveryManager(store, deliveries, jobs, logger) },
    { provide: DELIVERIES_WATCH, useValue: new RedisDeliveriesOverviewReader(redis, prefix) },
    { provide: REPLAYS, useValue: new EventReplayer(store, deliveries, log, jobs, logger) },
    {
      provide: REQUESTED_DELIVERIES,
      useValue: new SingleEventDeliverer(store, deliveries, log, jobs, logger),
    },
  ];
}
