export { Backlog } from './backlog.js';
export { BullmqDeliveryJobs } from './bullmq-delivery-jobs.js';
export { Courier } from './courier.js';
export { Deliveries } from './deliveries.js';
export type { DeliveriesOverview, DeliveriesWatch } from './deliveries-overview.js';
export type { DeliveryClient, DeliveryReply, DeliveryRequest } from './delivery-client.js';
export { DELIVERY_ROUND, ReconciledDeliveryJobs, RECONCILE_DELIVERIES_MS } from './delivery-hints.js';
export type { DeliveryJobs } from './delivery-jobs.js';
export { DeliveryPump, type PumpSettings } from './delivery-pump.js';
export type {
  DeliveryPage,
  DeliveryQuery,
  DeliveryRetention,
  DeliveryStore,
  Gap,
  ReplayScope,
  Retried,
} from './delivery-store.js';
export { type Attempt, type Delivery, deliveryId, type DeliveryStatus } from './delivery.js';
export { DestinationCheck } from './destination-check.js';
export { DestinationGuard } from './destination-guard.js';
export { Dispatcher } from './dispatcher.js';
export {
  DestinationRefusedError,
  type Endpoint,
  type EndpointChanges,
  type EndpointRegistry,
  type NewEndpoint,
} from './endpoint.js';
export { EndpointSeals, type ResealedEndpoints } from './endpoint-seals.js';
export { EndpointSecrets, type Rotation } from './endpoint-secrets.js';
export { type EndpointStore, filterBytes, MOST_FILTER_BYTES } from './endpoint-store.js';
export { EndpointIndex, wants, type Wish } from './endpoint-index.js';
export { EndpointTest, type TestStarted } from './endpoint-test.js';
export { Endpoints } from './endpoints.js';
export { headersFault, MOST_HEADERS } from './header-rules.js';
export { HintingDeliveryStore } from './hinting-delivery-store.js';
export { HttpDeliveryClient } from './http-delivery-client.js';
export { RedisDeliveriesWatch } from './redis-deliveries-watch.js';
export { RedisDeliveryStore } from './redis-delivery-store.js';
export { type DeliverySurvey, RedisDeliverySurvey } from './redis-delivery-survey.js';
export { RedisEndpointStore } from './redis-endpoint-store.js';
export { Replays, type ReplayRequest, ReplayTooLargeError } from './replays.js';
export { type Resolver, systemResolver } from './resolver.js';
export type { RetryPolicy } from './retry-policy.js';
export { WebhookConflictError } from './webhook-conflict.js';
