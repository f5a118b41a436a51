import { createHmac } from 'node:crypto';
import type { CommonEnvironment } from '../environment/environment.js';

/** Length of a digest, in characters. */
const LENGTH = 12;

/**
 * Which variables of gateways and workers are compared: those that cause failed upstream requests or an exceeded
 * budget if their values differ. `ENCRYPTION_KEY` is compared, too, because it is the key of the digest. If a
 * variable is added to the comparison, the digests of this build and of earlier builds differ. While processes of
 * both run, `settings_mixed` is then reported together with `versions_mixed`.
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

/** The variables that the digest covers in addition to `ENCRYPTION_KEY`. */
export const COMPARED_VARIABLES = (Object.keys(IS_COMPARED) as Variable[]).filter(
  (name): name is ComparedVariable => IS_COMPARED[name],
);

/**
 * Returns a digest of the settings that are compared. Each process announces its digest with its heartbeats. A
 * difference shows that a process was not restarted after a change of the settings. The digest is keyed with the
 * encryption key, so that a reader of Redis cannot find out an API key by trial.
 */
export function digestSettings(
  settings: Pick<CommonEnvironment, 'ENCRYPTION_KEY' | ComparedVariable>,
): string {
  const text = JSON.stringify(COMPARED_VARIABLES.map((name) => settings[name]));
  const hash = createHmac('sha256', settings.ENCRYPTION_KEY).update(`settings of a process: ${text}`);
  return hash.digest('base64url').slice(0, LENGTH);
}
