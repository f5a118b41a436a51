import { createHmac } from 'node:crypto';
import type { CommonEnvironment } from '../environment/environment.js';

/** Length of a digest, in characters. */
const LENGTH = 12;

type SharedSettings = Pick<
  CommonEnvironment,
  'ENCRYPTION_KEY' | 'UPSTREAM_BASE_URL' | 'UPSTREAM_API_KEY' | 'UPSTREAM_REQUESTS_PER_SECOND'
>;

/**
 * Returns a digest of the settings that all gateways and workers of an installation must have in common. Processes
 * announce it with their heartbeats, to find out that one of them was not restarted after a change. It is keyed with the
 * encryption key, so whoever reads it in Redis cannot find out an API key by trial.
 */
export function digestSettings(settings: SharedSettings): string {
  const { UPSTREAM_BASE_URL, UPSTREAM_API_KEY, UPSTREAM_REQUESTS_PER_SECOND } = settings;
  const text = JSON.stringify([UPSTREAM_BASE_URL, UPSTREAM_API_KEY, UPSTREAM_REQUESTS_PER_SECOND]);
  const hash = createHmac('sha256', settings.ENCRYPTION_KEY).update(`settings of a process: ${text}`);
  return hash.digest('base64url').slice(0, LENGTH);
}
