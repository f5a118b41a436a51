import type { EventTypePattern } from '#events';

/** What a subscriber asks for. */
export interface NewEndpoint {
  url: string;
  /** Types or patterns such as `message.*`; none given means all. */
  eventTypes?: readonly EventTypePattern[];
  /** Only events of these contacts; none given means all. */
  contactIds?: readonly string[];
  description?: string;
  /** Sent with every attempt, besides those that every attempt has. */
  headers?: Readonly<Record<string, string>>;
  /** Requests in flight to it, over all workers; none given means WEBHOOK_MAX_CONCURRENCY. */
  maxConcurrency?: number;
  /** Attempts a second, over all workers; none given means as many as there are. */
  rateLimitPerSecond?: number;
  /** One event at a time per contact, in the order of the log; default false. */
  ordered?: boolean;
  /** Whether events are delivered to it; default true. */
  enabled?: boolean;
}

/** What is to be changed about an endpoint: what is absent stays, null clears. */
export interface EndpointChanges {
  url?: string;
  eventTypes?: readonly EventTypePattern[] | null;
  contactIds?: readonly string[] | null;
  description?: string | null;
  /** All of them, in place of those before. */
  headers?: Readonly<Record<string, string>> | null;
  maxConcurrency?: number | null;
  rateLimitPerSecond?: number | null;
  ordered?: boolean;
  enabled?: boolean;
}

/** A subscriber's webhook. */
export interface Endpoint {
  /** `whk_…` */
  id: string;
  url: string;
  eventTypes: readonly EventTypePattern[] | null;
  contactIds: readonly string[] | null;
  description: string | null;
  headers: Readonly<Record<string, string>>;
  maxConcurrency: number | null;
  rateLimitPerSecond: number | null;
  ordered: boolean;
  enabled: boolean;
  /** Why it is disabled, if the gateway did it. */
  disabledReason: string | null;
  /** ISO 8601. */
  createdAt: string;
  updatedAt: string;
}

/** The address is one that webhooks may not reach; the message says why and what to do. */
export class DestinationRefusedError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'DestinationRefusedError';
  }
}

/** What subscribers can do with their endpoints. */
export interface EndpointRegistry {
  /**
   * The new endpoint and its signing secret, `whsec_…`.
   * @throws {DestinationRefusedError}
   */
  create(account: string, request: NewEndpoint): Promise<{ endpoint: Endpoint; secret: string }>;
  list(account: string): Promise<Endpoint[]>;
  find(account: string, id: string): Promise<Endpoint | undefined>;
  /**
   * The endpoint as changed, or undefined where there is none. One that is enabled gets what comes from then on; what
   * is pending at one that is disabled ends.
   * @throws {DestinationRefusedError}
   */
  change(account: string, id: string, changes: EndpointChanges): Promise<Endpoint | undefined>;
  /** Whether there was such an endpoint. Its pending deliveries end. */
  remove(account: string, id: string): Promise<boolean>;
}
