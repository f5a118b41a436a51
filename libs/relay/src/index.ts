export { BullmqRelayJobs } from './bullmq-relay-jobs.js';
export { FiledRelayStore } from './filed-relay-store.js';
export { FileSweep } from './file-sweep.js';
export { HintingRelayStore } from './hinting-relay-store.js';
export { HintingUpstreamHealth } from './hinting-upstream-health.js';
export { LaneRunner } from './lane-runner.js';
export { MessageBinder, type Sightings } from './message-binder.js';
export { type Lookup, type RelayJobs, type Sender } from './ports.js';
export { RedisIdempotencyKeys } from './redis-idempotency-keys.js';
export { RedisRelayStore } from './redis-relay-store.js';
export { RedisRelaySurvey, type RelaySurvey } from './redis-relay-survey.js';
export { RedisSendList } from './redis-send-list.js';
export { RedisUpstreamHealth } from './redis-upstream-health.js';
export { RECONCILE_MS, ReconciledRelayJobs, RELAY_ROUND, type RelayHints } from './relay-hints.js';
export { RelayRounds } from './relay-rounds.js';
export { type RelaySettings, SCHEDULE_SLEEP_MS } from './relay-settings.js';
export { type SendFilter, type SendList, type SendPage, type SendsOverview } from './send-list.js';
export { type RelayStore } from './relay-store.js';
export {
  type NewSend,
  type Send,
  SEND_STATUSES,
  type SendAttempt,
  type SendStatus,
  type StoredFile,
} from './send.js';
export {
  type Acceptance,
  IdempotencyInProgressError,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  RESERVATION_MS,
  RESOLVE_OUTCOMES,
  type ResolveOutcome,
  type SendIntake,
  SendNotCancellableError,
  SendNotResolvableError,
} from './send-intake.js';
export { StoredSendIntake } from './stored-send-intake.js';
export { UpstreamProbe } from './upstream-probe.js';
