export { BlobMissingError, type BlobStore, BlobTooLargeError, type StoredBlob } from './blob-store.js';
export { FileBlobStore } from './file-blob-store.js';
export { type NewSend, type Send, type SendAttempt, type SendStatus, type StoredFile } from './send.js';
export {
  type Acceptance,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  type SendIntake,
  SendNotCancellableError,
} from './send-intake.js';
