import { createHmac } from 'node:crypto';
import type { CommonEnvironment } from '../environment/environment.js';

/** Length of a digest, in characters. */
const LENGTH = 12;

/**
 * Which variables of gateways and workers are compared: those whose difference lets requests to upstream fail, or exceed
 * the budget. `ENCRYPTION_KEY` is compared as the key of the digest. If one more is compared, the digest differs from
 * that of earlier builds: as long as both run, `settings_mixed` is reported beside `versions_mixed`.
 */
const IS_COMPARED = {
  REDIS_URL: false,
  REDIS_KEY_PREFIX: false,
  ENCRYPTION_KEYS_PREVIOUS: false,
  LOG_LEVEL: false,
  UPSTREAM_BASE_URL: true,
  UPSTREAM_API_KEY: true,
  UPSTREAM_TIMEOUT_MS: false,
  UPSTREAM_REQUESTS_PER_SECOND: true,
  EVENT_RETENTION_HOURS: false,
  WEBHOOK_ALLOW_NETWORKS: false,
  BLOB_STORE: false,
  AWS_ENDPOINT_URL_S3: false,
  AWS_ENDPOINT_URL: false,
  CONVERSATIONS: false,
  METRICS_ALLOW_NETWORKS: false,
  METRICS_TOKEN: false,
  OTEL_EXPORTER_OTLP_ENDPOINT: false,
  OTEL_TRACES_SAMPLER: false,
  OTEL_TRACES_SAMPLER_ARG: false,
} as const satisfies Record<Exclude<keyof CommonEnvironment, 'ENCRYPTION_KEY'>, boolean>;

type Variable = keyof typeof IS_COMPARED;
type ComparedVariable = { [V in Variable]: (typeof IS_COMPARED)[V] extends true ? V : never }[Variable];

/** The variables that the digest covers, beside `ENCRYPTION_KEY`. */
export const COMPARED_VARIABLES = (Object.keys(IS_COMPARED) as Variable[]).filter(
  (name): name is ComparedVariable => IS_COMPARED[name],
);

/**
 * Returns a digest of the settings that are compared. Processes announce it with their heartbeats, to find out that one
 * of them was not restarted after a change. It is keyed with the encryption key, so whoever reads it in Redis cannot find
 * out an API key by trial.
 */
export function digestSettings(
  settings: Pick<CommonEnvironment, 'ENCRYPTION_KEY' | ComparedVariable>,
): string {
  const text = JSON.stringify(COMPARED_VARIABLES.map((name) => settings[name]));
  const hash = createHmac('sha256', settings.ENCRYPTION_KEY).update(`settings of a process: ${text}`);
  return hash.digest('base64url').slice(0, LENGTH);
}
