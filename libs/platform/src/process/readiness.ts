/** What can be wrong, and what to do about each, for whoever runs the product. */
const REMEDIES = {
  stopping: 'nothing to do: another gateway, or its next start, takes over',
  redis_unwritable: 'start Redis, give it room (maxmemory), and let the gateway reach it (REDIS_URL)',
  redis_not_persistent: 'set appendonly yes in Redis',
  no_worker: 'start a worker with the same REDIS_URL and REDIS_KEY_PREFIX',
  no_relay_worker: 'start a worker that has relay in WORKER_ROLES',
  no_poll_worker: 'start a worker that has poll in WORKER_ROLES',
  no_dispatch_worker: 'start a worker that has dispatch in WORKER_ROLES',
  upstream_down: 'see that the upstream service runs, and that its address (UPSTREAM_BASE_URL) is right',
  upstream_refused: 'set a valid upstream key: UPSTREAM_API_KEY, or PATCH /v1/accounts/{id}',
  upstream_is_tidings:
    'set the upstream address to that of the messaging service: UPSTREAM_BASE_URL, or PATCH /v1/accounts/{id}',
  contact_list_unreadable: 'see that the upstream address ends with the path of the API, such as /v1',
  contacts_vanished:
    'see that upstream shows all contacts; if they are deleted: POST /v1/accounts/{id}/confirm-deletions',
  blob_store_unusable: 'see that BLOB_STORE is there, has room, and can be written',
  versions_mixed: 'start every gateway and worker anew from the same build',
  blob_store_not_shared:
    'give gateways and workers the same BLOB_STORE: a directory that all of them mount, or s3://',
  clock_off: 'set the clocks of this machine and of Redis by NTP',
} as const;

export type ReasonCode = keyof typeof REMEDIES;

export const REASON_CODES = Object.keys(REMEDIES) as [ReasonCode, ...ReasonCode[]];

/** Something that is wrong. */
export interface Reason {
  code: ReasonCode;
  /** Of what it is about, such as accounts. */
  count: number;
  /** What is wrong, in words that anybody may read: they name no account, address or file. */
  words: string;
}

/** A reason as it is shown beside the words. */
export interface ReasonDetail {
  code: ReasonCode;
  count: number;
  remedy: string;
}

/** Whether sends can be stored, and what else is wrong. */
export interface Readiness {
  status: 'ok' | 'degraded' | 'unavailable';
  /** What is wrong and what to do, in words. */
  reasons: string[];
  /** The same for programs, in the same order. */
  details: ReasonDetail[];
}

/** What is wrong in the form in which it is shown. */
export function readinessOf(status: Readiness['status'], reasons: readonly Reason[]): Readiness {
  return {
    status,
    reasons: reasons.map(({ code, words }) => `${words}; ${REMEDIES[code]}`),
    details: reasons.map(({ code, count }) => ({ code, count, remedy: REMEDIES[code] })),
  };
}

/** `degraded` where something is wrong. */
export function degradedBy(reasons: readonly Reason[]): Readiness {
  return readinessOf(reasons.length === 0 ? 'ok' : 'degraded', reasons);
}
