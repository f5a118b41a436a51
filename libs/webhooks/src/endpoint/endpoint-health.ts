/** The health of an endpoint: its last success, its failures since then, its pause, and what waits for it. */
export interface EndpointHealth {
  /**
   * Time of the first failed attempt after the last success, by Redis' clock, as an ISO 8601 time. Null if the last
   * attempt succeeded, or if no attempt was made since the endpoint was created, enabled or disabled, or since its
   * URL last changed.
   */
  failingSince: string | null;
  /** Time of the last successful attempt, by Redis' clock, as an ISO 8601 time. Null if none is known. */
  lastSuccessAt: string | null;
  /**
   * Time before which no attempt begins, by Redis' clock, as an ISO 8601 time, because the receiver is overloaded or
   * requested a pause by `Retry-After`. Null if the endpoint is not paused.
   */
  pausedUntil: string | null;
  /**
   * Time since which events wait in the event log until the backlog has room for their deliveries, by Redis' clock, as
   * an ISO 8601 time. Null if no event waits.
   */
  waitingSince: string | null;
  /** Number of pending deliveries. */
  pending: number;
}

/** The health of an endpoint that was just created. */
export const HEALTH_OF_NEW_ENDPOINT: EndpointHealth = {
  failingSince: null,
  lastSuccessAt: null,
  pausedUntil: null,
  waitingSince: null,
  pending: 0,
};

/** Reads the health of endpoints. */
export interface EndpointHealthReader {
  /** Returns the health of each endpoint, in the order of the ids. */
  read(account: string, endpointIds: readonly string[]): Promise<EndpointHealth[]>;
}
