import type { ValueProvider } from '@nestjs/common';
import { SecretBox } from '#accounts';
import { RedisEventLog } from '#events';
import { type GatewayEnvironment, type RedisClient, systemClock } from '#platform';
import {
  DestinationCheck,
  DestinationGuard,
  Endpoints,
  EndpointSecrets,
  EndpointTest,
  RedisDeliveryStore,
  RedisEndpointStore,
  type Resolver,
} from '#webhooks';
import { ENDPOINT_REGISTRY, ENDPOINT_SECRETS, ENDPOINT_TEST } from '../tokens.js';

/** What webhooks are made of. */
export interface WebhookParts {
  environment: GatewayEnvironment;
  redis: RedisClient;
  resolver: Resolver;
}

/** What the names of `tokens.ts` are bound to for webhooks. */
export function webhookBindings({ environment, redis, resolver }: WebhookParts): ValueProvider[] {
  const prefix = environment.REDIS_KEY_PREFIX;
  const store = new RedisEndpointStore(redis, prefix, systemClock);
  const deliveries = new RedisDeliveryStore(redis, prefix);
  const log = new RedisEventLog(redis, prefix);
  const check = new DestinationCheck(new DestinationGuard(environment.WEBHOOK_ALLOW_NETWORKS), resolver);
  const box = new SecretBox(environment.ENCRYPTION_KEY);
  return [
    { provide: ENDPOINT_REGISTRY, useValue: new Endpoints(store, deliveries, check, box, systemClock) },
    { provide: ENDPOINT_SECRETS, useValue: new EndpointSecrets(store, box, systemClock) },
    { provide: ENDPOINT_TEST, useValue: new EndpointTest(store, log) },
  ];
}
