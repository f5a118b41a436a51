/** The client of the gateway's API, published as `@tidings/client`. It imports nothing of the gateway. */
export type * from './api-types.js';
export {
  type AwaitedStatus,
  type CallOptions,
  type DeliveryFilter,
  newIdempotencyKey,
  SendStatusNotReachedError,
  type SendFilter,
  type SendOptions,
  Tidings,
  type WaitOptions,
} from './client.js';
export { type ProblemCode, TidingsConnectionError, TidingsError } from './client-error.js';
export { type EventOptions, EventStream, type LiveChange, type SendUpdate } from './event-stream.js';
export type { ConnectionOptions } from './retrying-requester.js';
export { EVENT_TYPES, SEND_STATUSES } from './values.js';
export {
  signWebhook,
  type SigningOptions,
  type VerificationOptions,
  verifyWebhookRequest,
  verifyWebhook,
  WebhookVerificationError,
} from './webhook.js';
