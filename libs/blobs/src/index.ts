/**
 * Stores the files of sends from their upload until they are relayed, in S3 or in a directory that all
 * processes share.
 */
export {
  BlobMissingError,
  type BlobStore,
  BlobStoreUnavailableError,
  BlobTooLargeError,
  type BlobEntry,
  type StoredBlob,
} from './blob-store.js';
export { OtherInstallationDetector } from './other-installation-detector.js';
export { type BlobPeers, BlobStoreSharingChecker } from './blob-store-sharing-checker.js';
export { BlobStoreMonitor } from './blob-store-monitor.js';
export { FileBlobStore } from './file-blob-store.js';
export { openBlobStore } from './open-blob-store.js';
