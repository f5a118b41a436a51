import { type EventLog, type EventTypePattern, type LoggedEvent, matchesEventType } from '#events';
import type { Logger } from '#platform';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { DeliveryStore, ReplayScope } from '../delivery/delivery-store.js';
import { isEventForEndpoint } from '../endpoint/endpoint-index.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { tryToWakeWorker } from '../delivery/wake-worker.js';
import { readEventsInTimeWindow, type TimeWindow } from './log-window.js';
import { createWebhookDisabledError } from '../endpoint/webhook-state-conflict.js';

/** Max number of events that one replay reads, so that the request does not take too long. */
export const MAX_REPLAYED_EVENTS = 50_000;

/** Selects the events that a replay delivers. */
export interface ReplayRequest extends TimeWindow {
  /**
   * Event types and patterns to replay. Types that the endpoint's filter does not match are not replayed. Default:
   * all types that the filter matches.
   */
  eventTypes?: readonly EventTypePattern[];
  scope: ReplayScope;
}

/** Thrown if the time window contains too many events for one replay. No event was replayed. */
export class ReplayTooLargeError extends Error {
  constructor(
    /** Max number of events of one replay. */
    readonly maxEvents: number,
    /**
     * Latest possible end of the replay's time window, as an ISO 8601 time. With a later end, the window would contain
     * more than `maxEvents` events.
     */
    readonly maxUntil: string,
  ) {
    super(`The time window contains more than ${maxEvents} events.`);
    this.name = 'ReplayTooLargeError';
  }
}

/**
 * Delivers past events to an endpoint (a replay). A replay that was interrupted can be repeated: an event whose
 * delivery is already pending gets no second delivery.
 */
export class EventReplayer {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly deliveries: Pick<DeliveryStore, 'replay' | 'countReplay'>,
    private readonly log: Pick<EventLog, 'read' | 'end'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
    private readonly maxEvents = MAX_REPLAYED_EVENTS,
  ) {}

  /**
   * Creates, restarts or makes due the deliveries of the selected events, as {@link DeliveryStore.replay} does, until
   * the backlog of the endpoint is full. Returns the number of changed deliveries, or undefined if the endpoint does
   * not exist.
   * @throws {WebhookStateConflictError} if the endpoint is disabled
   * @throws {ReplayTooLargeError} if the time window contains too many events
   */
  async start(account: string, id: string, request: ReplayRequest): Promise<number | undefined> {
    let isBacklogFull = false;
    const count = await this.sum(account, id, request, async (events) => {
      // Skip all later events, even if the backlog has room again. Otherwise, the replay would deliver later events
      // but not the events for which there was no room.
      if (isBacklogFull) return 0;
      const step = await this.deliveries.replay(account, id, request.scope, events);
      ({ isBacklogFull } = step);
      return step.count;
    });
    if (count !== undefined && count > 0) await tryToWakeWorker(this.jobs, this.logger, account, [id]);
    return count;
  }

  /**
   * Returns the number of deliveries that {@link start} would create, restart or make due now. Changes nothing.
   * @throws the error that {@link start} would throw
   */
  count(account: string, id: string, request: ReplayRequest): Promise<number | undefined> {
    return this.sum(account, id, request, (events, counted) =>
      this.deliveries.countReplay(account, id, request.scope, events, counted),
    );
  }

  /**
   * Reads the selected events page by page, and calls `step` for each page that contains any. Returns the sum of the
   * results of `step`, or undefined if the endpoint does not exist. Throws the errors of {@link start}.
   * @param step receives the selected events of a page, and the sum of the results for the earlier pages
   */
  private async sum(
    account: string,
    id: string,
    request: ReplayRequest,
    step: (events: readonly LoggedEvent[], sum: number) => Promise<number>,
  ): Promise<number | undefined> {
    const endpoint = await this.endpoints.find(account, id);
    if (endpoint === undefined) return undefined;
    if (!endpoint.enabled) throw createWebhookDisabledError('A replay would deliver nothing');
    const last = await this.checkSize(account, request);
    if (last === undefined) return 0;
    const { eventTypes = ['*'] } = request;
    const isSelected = (event: LoggedEvent): boolean =>
      isEventForEndpoint(endpoint, event) &&
      eventTypes.some((pattern) => matchesEventType(pattern, event.type));
    let sum = 0;
    for await (const events of readEventsInTimeWindow(this.log, account, request, last.position)) {
      const selected = events.filter(isSelected);
      if (selected.length > 0) sum += await step(selected, sum);
    }
    return sum;
  }

  /**
   * Checks the number of events before the replay starts, because a replay that stops halfway would look complete.
   * Returns the last event of the window, or undefined if the window contains no event.
   */
  private async checkSize(account: string, window: TimeWindow): Promise<LoggedEvent | undefined> {
    let seen = 0;
    let last: LoggedEvent | undefined;
    for await (const events of readEventsInTimeWindow(this.log, account, window)) {
      const first = events[this.maxEvents - seen];
      if (first !== undefined) throw new ReplayTooLargeError(this.maxEvents, first.timestamp);
      seen += events.length;
      last = events.at(-1) ?? last;
    }
    return last;
  }
}
