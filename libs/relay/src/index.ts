export { BlobMissingError, type BlobStore, BlobTooLargeError, type StoredBlob } from './blob-store.js';
export { BullmqRelayJobs } from './bullmq-relay-jobs.js';
export { FileBlobStore } from './file-blob-store.js';
export { LaneRunner } from './lane-runner.js';
export { MessageBinder, type Sightings } from './message-binder.js';
export { type Lookup, type RelayJobs, type Sender } from './ports.js';
export { RedisRelayStore } from './redis-relay-store.js';
export { RelayRounds } from './relay-rounds.js';
export { type RelaySettings } from './relay-settings.js';
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
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  RESOLVE_OUTCOMES,
  type ResolveOutcome,
  type SendIntake,
  SendNotCancellableError,
  SendNotResolvableError,
} from './send-intake.js';
export { StoredSendIntake } from './stored-send-intake.js';
