/**
 * Delivers events to webhooks. In this library, `Endpoint` means a webhook: a subscriber's URL with its event filter,
 * limits and signing secrets.
 *
 * | | |
 * |---|---|
 * | `endpoint/`    | endpoints, their filters and signatures, and the interface of their store |
 * | `registry/`    | creates, changes and tests endpoints, and rotates their secrets |
 * | `delivery/`    | deliveries, their retry policy and wake-up jobs, and the interface of their store |
 * | `dispatch/`    | creates deliveries: of new events, of past events on request, and for a refill of a backlog |
 * | `attempt/`     | attempts deliveries within concurrency limits, and records the outcomes |
 * | `destination/` | makes one HTTP request: rejects forbidden addresses, resolves names, reads the reply |
 * | `redis/`       | stores endpoints and deliveries in Redis |
 */
export { BacklogRefiller } from './dispatch/backlog-refiller.js';
export { BullmqDeliveryJobs } from './delivery/bullmq-delivery-jobs.js';
export { type AttemptResult, DeliveryAttempter } from './attempt/delivery-attempter.js';
export { DeliveryManager } from './delivery/delivery-manager.js';
export type { DeliveriesOverview, DeliveriesOverviewReader } from './delivery/deliveries-overview.js';
export type { DeliveryClient, DeliveryReply, DeliveryRequest } from './attempt/delivery-client.js';
export {
  DELIVERY_TASK_NAMES,
  DeliveryJobsWithReconciliation,
  DUE_DELIVERY_CHECK_DELAY_MS,
} from './delivery/delivery-jobs-with-reconciliation.js';
export type { DeliveryJobs } from './delivery/delivery-jobs.js';
export { DeliveryRunner, type DeliveryWorkerSettings } from './attempt/delivery-runner.js';
export type {
  DeliveryPage,
  DeliveryQuery,
  DeliveryRetention,
  DeliveryStore,
  FinishedAttempt,
  ReplayScope,
} from './delivery/delivery-store.js';
export { type Attempt, type Delivery, deliveryId, type DeliveryStatus } from './delivery/delivery.js';
export { RecentEventCache } from './delivery/recent-event-cache.js';
export { WebhookUrlChecker } from './destination/webhook-url-checker.js';
export { DestinationGuard } from './destination/destination-guard.js';
export { EventDispatcher } from './dispatch/event-dispatcher.js';
export {
  ForbiddenDestinationError,
  type Endpoint,
  type EndpointChanges,
  type EndpointRegistry,
  type NewEndpoint,
} from './endpoint/endpoint.js';
export {
  type EndpointHealth,
  type EndpointHealthReader,
  HEALTH_OF_NEW_ENDPOINT,
} from './endpoint/endpoint-health.js';
export {
  EndpointSecretReencrypter,
  type EndpointReencryptionCounts,
} from './registry/endpoint-secret-reencrypter.js';
export { EndpointSecretManager, type SecretRotationResult } from './registry/endpoint-secret-manager.js';
export {
  type EndpointStore,
  contactFilterSizeInBytes,
  MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT,
  MAX_CONTACT_FILTER_BYTES_PER_ENDPOINT,
  MAX_ENDPOINTS_PER_ACCOUNT,
} from './endpoint/endpoint-store.js';
export { TestEventSender, type StartedTest } from './registry/test-event-sender.js';
export { EndpointManager } from './registry/endpoint-manager.js';
export { describeInvalidHeaders, MAX_CUSTOM_HEADERS } from './endpoint/header-rules.js';
export { AgendaNotifyingDeliveryStore } from './redis/agenda-notifying-delivery-store.js';
export { HttpDeliveryClient } from './destination/http-delivery-client.js';
export { MAX_EXCERPT_BYTES } from './destination/http-exchange.js';
export { RedisDeliveriesOverviewReader } from './redis/redis-deliveries-overview.js';
export { RedisDeliveryStore } from './redis/redis-delivery-store.js';
export { type DeliveryDueTimes, RedisDeliveryDueTimeReader } from './redis/redis-delivery-due-time-reader.js';
export { RedisEndpointHealth } from './redis/redis-endpoint-health.js';
export { RedisEndpointStore } from './redis/redis-endpoint-store.js';
export { type RequestedDelivery, SingleEventDeliverer } from './dispatch/single-event-deliverer.js';
export {
  EventReplayer,
  MAX_REPLAYED_EVENTS,
  type ReplayRequest,
  ReplayTooLargeError,
} from './dispatch/event-replayer.js';
export { type Resolver, createHostNameResolver } from './destination/resolver.js';
export type { RetryPolicy } from './delivery/retry-policy.js';
export { WebhookStateConflictError } from './endpoint/webhook-state-conflict.js';
