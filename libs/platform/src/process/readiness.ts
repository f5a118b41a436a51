/** What an operator can do about each fault that affects readiness. */
const REMEDIES = {
  stopping: 'no action is needed: another gateway takes over, or this gateway starts again',
  redis_unwritable: 'check that Redis is running, has free memory (maxmemory) and is reachable at REDIS_URL',
  redis_not_persistent: 'set "appendonly yes" in the Redis configuration',
  no_worker: 'start a worker with the same REDIS_URL and REDIS_KEY_PREFIX',
  no_relay_worker: 'start a worker with the role relay in WORKER_ROLES',
  no_poll_worker: 'start a worker with the role poll in WORKER_ROLES',
  no_dispatch_worker: 'start a worker with the role dispatch in WORKER_ROLES',
  upstream_down:
    'check that the messaging service is running and that its base address is correct: UPSTREAM_BASE_URL, or GET /v1/accounts/{id}',
  upstream_refused: 'set a valid upstream API key: UPSTREAM_API_KEY, or PATCH /v1/accounts/{id}',
  upstream_is_tidings:
    'set the base address of the messaging service: UPSTREAM_BASE_URL, or PATCH /v1/accounts/{id}',
  contact_list_unreadable:
    'check that the upstream base address ends with the path of the API, for example /v1',
  messages_unreadable:
    'check that the messaging service answers GET /contacts/{id}/messages and that its API key may read messages; the logs of the workers show why each poll failed',
  contacts_vanished:
    'check that the messaging service lists all contacts; if the contacts were deleted on purpose, call POST /v1/accounts/{id}/confirm-deletions',
  messages_vanished:
    'check that the messaging service lists all messages; if the messages were deleted on purpose, call POST /v1/accounts/{id}/confirm-deletions',
  blob_store_unusable: 'check that BLOB_STORE exists, has free space and is writable',
  versions_mixed: 'restart every gateway and worker from the same build',
  settings_mixed:
    'restart every gateway and worker with the same ENCRYPTION_KEY, UPSTREAM_BASE_URL, UPSTREAM_API_KEY and UPSTREAM_REQUESTS_PER_SECOND',
  blob_store_not_shared:
    'set the same BLOB_STORE for all gateways and workers: a directory that all of them mount, or an s3:// address',
  clock_off: 'synchronize the clocks of this machine and of the Redis machine with NTP',
} as const;

export type ReasonCode = keyof typeof REMEDIES;

export const READINESS_REASON_CODES = Object.keys(REMEDIES) as [ReasonCode, ...ReasonCode[]];

/** A fault that affects the readiness of an installation. */
export interface Reason {
  code: ReasonCode;
  /** Number of accounts, processes or other objects that the fault affects. */
  count: number;
  /** Description of the fault. Anybody may read the description, so it names no account, address or file. */
  description: string;
  /** What an operator can do about this fault. If absent, the default remedy for `code` applies. */
  remedy?: string | undefined;
}

/** A {@link Reason} as fields that API clients can evaluate: with its remedy, but without its description. */
export interface ReasonDetail {
  code: ReasonCode;
  count: number;
  remedy: string;
}

/**
 * The readiness of a gateway. `degraded` means that sends can be stored, but that there are faults. `unavailable`
 * means that sends cannot be stored.
 */
export interface Readiness {
  status: 'ok' | 'degraded' | 'unavailable';
  /** One text per fault: its description and its remedy. */
  reasons: string[];
  /** The faults in machine-readable form, in the same order as in `reasons`. */
  details: ReasonDetail[];
}

/** Builds the readiness that the API shows, from a status and the reasons. */
export function createReadiness(status: Readiness['status'], reasons: readonly Reason[]): Readiness {
  return {
    status,
    reasons: reasons.map(({ code, description, remedy = REMEDIES[code] }) => `${description}; ${remedy}`),
    details: reasons.map(({ code, count, remedy = REMEDIES[code] }) => ({ code, count, remedy })),
  };
}

/** Returns the readiness of a gateway that can store sends: `ok` if there are no reasons, else `degraded`. */
export function okOrDegradedReadiness(reasons: readonly Reason[]): Readiness {
  return createReadiness(reasons.length === 0 ? 'ok' : 'degraded', reasons);
}
