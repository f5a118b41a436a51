/**
 * Stores sends and relays them to upstream. A lane is the queue of one recipient's sends.
 *
 * | | |
 * |---|---|
 * | `ports.ts` | interfaces that this library needs to post sends, read messages and wake workers |
 * | `send/`    | the send: state machine, record, intake, idempotency keys, and the interfaces of the stores |
 * | `lane/`    | processes lanes: POSTs, retries, look-ups of sends, confirmations, periodic tasks |
 * | `match/`   | finds out which of upstream's messages belongs to which send |
 * | `jobs/`    | wakes workers when lanes, periodic tasks or scheduled sends have work |
 * | `outage/`  | records outages of upstream, tests whether they are over, and then wakes waiting lanes |
 * | `redis/`   | stores sends, lanes, lists of sends and idempotency keys in Redis, and removes old sends |
 */
export { BatchedRelayJobs } from './jobs/batched-relay-jobs.js';
export { BullmqRelayJobs } from './jobs/bullmq-relay-jobs.js';
export { FileRemovingRelayStore } from './redis/file-removing-relay-store.js';
export { UnusedFileRemover } from './lane/unused-file-remover.js';
export { AgendaNotifyingRelayStore } from './redis/agenda-notifying-relay-store.js';
export { ProbeTriggeringUpstreamHealth } from './outage/probe-triggering-upstream-health.js';
export { LaneRunner } from './lane/lane-runner.js';
export { MessageBinder, type Sightings } from './match/message-binder.js';
export { type Lookup, type RelayJobs, type Sender, type SendingAccount } from './ports.js';
export { RedisIdempotencyKeys } from './redis/redis-idempotency-keys.js';
export { RedisRelayStore } from './redis/redis-relay-store.js';
export { RedisRelayDueTimeReader, type RelayDueTimes } from './redis/redis-relay-due-time-reader.js';
export { RedisSendHistory } from './redis/redis-send-history.js';
export { RedisSendList } from './redis/redis-send-list.js';
export { RedisUpstreamHealth } from './outage/redis-upstream-health.js';
export {
  LOST_JOB_CHECK_DELAY_MS,
  RelayJobsWithReconciliation,
  RELAY_TASK_NAMES,
  type RelaySchedulers,
} from './jobs/relay-jobs-with-reconciliation.js';
export { PeriodicRelayTasks } from './lane/periodic-relay-tasks.js';
export { type RelaySettings, SCHEDULED_SENDS_CHECK_INTERVAL_MS } from './send/relay-settings.js';
export { type SendHistory, type SendWithTimes, type SendWithTimesPage } from './send/send-history.js';
export { type SendFilter, type SendList, type SendPage, type SendsOverview } from './send/send-list.js';
export { type SendRecord } from './send/send-record.js';
export { type Fence, type FenceResult } from './send/lane-store.js';
export { type RelayStore, type StateChange } from './send/relay-store.js';
export { type SendState, timeOfStatus } from './send/send-record.js';
export {
  LOOKUP_OUTCOMES,
  type LookupCandidate,
  type NewSend,
  type Send,
  SEND_STATUSES,
  type SendAttempt,
  type SendLookup,
  type SendStatus,
  type StoredFile,
} from './send/send.js';
export {
  type Acceptance,
  IdempotentRequestInProgressError,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  IDEMPOTENCY_KEY_RESERVATION_MS,
  RESOLVE_OUTCOMES,
  type ResolveOutcome,
  type SendService,
  type SendOrigin,
  SendNotCancellableError,
  SendNotResolvableError,
  type SendQuota,
  SendQuotaExceededError,
} from './send/send-service.js';
export { StoreBackedSendService } from './send/store-backed-send-service.js';
export { UpstreamProbe } from './outage/upstream-probe.js';
