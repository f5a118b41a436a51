import { DeadlineError } from '#platform';

/** Error replies of a Redis that cannot take or keep anything at the moment. */
const REFUSALS =
  /^(OOM|READONLY|LOADING|MISCONF|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|BUSY|NOAUTH|WRONGPASS|NOPERM) /;

/** How ioredis tells that a command was not sent, or that there will be no reply to it. */
const AWAY =
  /enableOfflineQueue options is false|^Failed to refresh slots cache|^Command timed out$|^Connection is closed\.?$|^Reached the max retries per request limit/;

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** Errors of a disk that cannot take anything. */
const DISK = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);

/** Whether an error says that nothing can be stored or read at the moment. */
export function isStoreFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'ReplyError') return REFUSALS.test(error.message);
  if (error instanceof DeadlineError || AWAY.test(error.message)) return true;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return DISK.has(code) || (NETWORK.has(code) && 'syscall' in error);
}
