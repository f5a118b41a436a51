import { DeadlineError } from '#platform';

/** Error replies of a Redis server that temporarily rejects commands. */
const REFUSALS =
  /^(OOM|READONLY|LOADING|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|BUSY|NOAUTH|WRONGPASS|NOPERM) /;

/** Messages with which ioredis reports that a command was not sent or will get no reply. */
const UNREACHABLE =
  /enableOfflineQueue options is false|^Failed to refresh slots cache|^Command timed out$|^Too many Cluster redirections|^Connection is closed\.?$|^Reached the max retries per request limit/;

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** Error codes of a disk that is full or read-only. */
const DISK = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);

/** True if the error means that Redis, or the disk of the blob store, is unavailable at the moment. */
export function isStoreFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'ReplyError') return REFUSALS.test(error.message);
  if (error instanceof DeadlineError || UNREACHABLE.test(error.message)) return true;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return DISK.has(code) || (NETWORK.has(code) && 'syscall' in error);
}
