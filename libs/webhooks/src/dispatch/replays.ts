import { type EventLog, type EventTypePattern, type LoggedEvent, matchesEventType } from '#events';
import type { Logger } from '#platform';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { DeliveryStore, ReplayScope } from '../delivery/delivery-store.js';
import { wants } from '../endpoint/endpoint-index.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { hintQuietly } from '../delivery/hint-quietly.js';
import { eventsIn, type Window } from './log-window.js';
import { disabledConflict } from '../endpoint/webhook-conflict.js';

/** Events of the log that one replay looks at: what a caller can be kept waiting for. */
const MOST_EVENTS = 50_000;

/** What is to be replayed. */
export interface ReplayRequest extends Window {
  /** Of these types alone; none given means all that the endpoint asks for. */
  eventTypes?: readonly EventTypePattern[];
  only: ReplayScope;
}

/** The window holds more events than one replay looks at; nothing was replayed. */
export class ReplayTooLargeError extends Error {
  constructor(
    readonly most: number,
    /** A window that ends here is not too large: ISO 8601. */
    readonly fits: string,
  ) {
    super(`The window holds more than ${most} events.`);
    this.name = 'ReplayTooLargeError';
  }
}

/**
 * Sends events of the log to an endpoint once more, or for the first time. A replay that breaks off can be made again:
 * what it has made pending is pending, and nothing is ever doubled.
 */
export class Replays {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly deliveries: Pick<DeliveryStore, 'replay'>,
    private readonly log: Pick<EventLog, 'read' | 'end'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
    private readonly mostEvents = MOST_EVENTS,
  ) {}

  /**
   * How many deliveries became pending, or undefined where there is no such endpoint.
   * @throws {WebhookConflictError} for a disabled endpoint
   * @throws {ReplayTooLargeError}
   */
  async start(account: string, id: string, request: ReplayRequest): Promise<number | undefined> {
    const endpoint = await this.endpoints.find(account, id);
    if (endpoint === undefined) return undefined;
    if (!endpoint.enabled) throw disabledConflict('A replay would not be delivered');
    await this.checkSize(account, request);
    const { eventTypes = ['*'], only } = request;
    const wanted = (event: LoggedEvent): boolean =>
      wants(endpoint, event) && eventTypes.some((pattern) => matchesEventType(pattern, event.type));
    let count = 0;
    for await (const events of eventsIn(this.log, account, request)) {
      const again = events.filter(wanted).map((event) => ({ endpointId: id, event }));
      if (again.length > 0) count += await this.deliveries.replay(account, only, again);
    }
    if (count > 0) await hintQuietly(this.jobs, this.logger, account, id);
    return count;
  }

  /** Before anything is made: half a replay would look like a whole one. */
  private async checkSize(account: string, window: Window): Promise<void> {
    let seen = 0;
    for await (const events of eventsIn(this.log, account, window)) {
      const first = events[this.mostEvents - seen];
      if (first !== undefined) throw new ReplayTooLargeError(this.mostEvents, first.timestamp);
      seen += events.length;
    }
  }
}
