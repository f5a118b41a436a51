import type { EventTypePattern } from '#events';

/** Properties of a new webhook. */
export interface NewEndpoint {
  url: string;
  /** Event types or patterns such as `message.*`. Default: all types. */
  eventTypes?: readonly EventTypePattern[];
  /**
   * Ids of the contacts whose events are delivered. Default: all events are delivered, even events without a contact.
   */
  contactIds?: readonly string[];
  description?: string;
  /** Additional headers for every attempt, besides the headers that Tidings sets. */
  headers?: Readonly<Record<string, string>>;
  /** Max number of requests in flight over all workers. Default: WEBHOOK_MAX_CONCURRENCY. */
  maxConcurrency?: number;
  /** Max number of attempts per second over all workers. Default: unlimited. */
  rateLimitPerSecond?: number;
  /**
   * True to deliver one event at a time per contact, in the order of the log. Events without a contact are also
   * delivered one at a time. Default false.
   */
  ordered?: boolean;
  /** True to deliver events. Default true. */
  enabled?: boolean;
}

/** Changes of a webhook. A property that is absent stays unchanged. Null restores the default. */
export interface EndpointChanges {
  url?: string;
  eventTypes?: readonly EventTypePattern[] | null;
  contactIds?: readonly string[] | null;
  description?: string | null;
  /** The new headers, which replace all previous headers. */
  headers?: Readonly<Record<string, string>> | null;
  maxConcurrency?: number | null;
  rateLimitPerSecond?: number | null;
  ordered?: boolean;
  enabled?: boolean;
}

/** A webhook: a subscriber's URL, with its event filter and its limits. */
export interface Endpoint {
  /** Id of the webhook; starts with `whk_`. */
  id: string;
  url: string;
  eventTypes: readonly EventTypePattern[] | null;
  contactIds: readonly string[] | null;
  description: string | null;
  /** The headers configured for the webhook. Empty if they cannot be decrypted because the encryption key is lost. */
  headers: Readonly<Record<string, string>>;
  maxConcurrency: number | null;
  rateLimitPerSecond: number | null;
  ordered: boolean;
  enabled: boolean;
  /** Why Tidings disabled the webhook, or null. */
  disabledReason: string | null;
  /** Time at which the endpoint was created (ISO 8601). */
  createdAt: string;
  /** Time of the last change of the endpoint (ISO 8601). */
  updatedAt: string;
}

/** Thrown if a text is no absolute URL, or if webhooks must not use the URL or an IP address of its host. */
export class ForbiddenDestinationError extends Error {
  constructor(
    /** Why, and what to do about it. */
    readonly reason: string,
  ) {
    super(`The webhook's URL is refused: ${reason}.`);
    this.name = 'ForbiddenDestinationError';
  }
}

/** Creates, reads, changes and removes endpoints. */
export interface EndpointRegistry {
  /**
   * Creates an endpoint. Returns the endpoint and its signing secret, which starts with `whsec_`.
   * @throws {ForbiddenDestinationError} if the URL is forbidden
   * @throws {WebhookStateConflictError} if the account has too many endpoints or too large contact filters
   */
  create(account: string, request: NewEndpoint): Promise<{ endpoint: Endpoint; secret: string }>;
  /** Returns all endpoints of an account, oldest first. */
  list(account: string): Promise<Endpoint[]>;
  /** Returns an endpoint, or undefined if the endpoint does not exist. */
  find(account: string, id: string): Promise<Endpoint | undefined>;
  /**
   * Changes an endpoint. Returns the changed endpoint, or undefined if the endpoint does not exist. An endpoint that
   * becomes enabled receives only the events that are recorded after the change. A pause of the endpoint ends if the
   * endpoint is enabled or disabled, if its URL changes, or if `enabled: true` is the only change in `changes`.
   * Disabling an endpoint ends its pending deliveries.
   * @throws {ForbiddenDestinationError} if the new URL is forbidden
   * @throws {WebhookStateConflictError} if the contact filters of the account would be too large
   */
  change(account: string, id: string, changes: EndpointChanges): Promise<Endpoint | undefined>;
  /** Removes an endpoint and ends its pending deliveries. Returns false if the endpoint did not exist. */
  remove(account: string, id: string): Promise<boolean>;
}
