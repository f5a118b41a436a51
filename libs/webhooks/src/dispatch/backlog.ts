import { type EventLog, isBefore } from '#events';
import { type Behind, type DeliveryStore, MAX_REFILLED } from '../delivery/delivery-store.js';
import { wants } from '../endpoint/endpoint-index.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { placeAfter, placeBefore, readKept } from './log-window.js';

/** Pages of the log that one call goes through: whoever asks for more asks again. */
const MOST_PAGES = 10;
/** Of what is read most may be for others. */
const SMALLEST_PAGE = 20;

/** Makes deliveries of what an endpoint's backlog had no room for, in the order of the log, once it has. */
export class Backlog {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly deliveries: Pick<DeliveryStore, 'behind' | 'refill'>,
    private readonly log: Pick<EventLog, 'read' | 'end'>,
  ) {}

  /** Any number of processes may do this at a time: nothing is made twice, and nothing passed over. */
  async refill(account: string, endpointId: string): Promise<void> {
    const { epoch } = await this.log.end(account);
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const behind = await this.deliveries.behind(account, endpointId);
      if (behind === undefined || !(await this.page(account, endpointId, epoch, behind))) return;
    }
  }

  private async page(
    account: string,
    endpointId: string,
    epoch: string,
    { from, to, room }: Behind,
  ): Promise<boolean> {
    // As it is now: it may have asked for other events meanwhile.
    const endpoint = await this.endpoints.find(account, endpointId);
    if (endpoint === undefined) return false;
    const limit = Math.min(Math.max(room, SMALLEST_PAGE), MAX_REFILLED);
    const { events } = await readKept(this.log, account, { epoch, position: placeBefore(from) }, limit);
    const here = events.filter(({ position }) => !isBefore(to, position));
    const last = here.at(-1);
    // The log has nothing more up to its end, or lost it.
    const next = last === undefined || here.length < limit ? placeAfter(to) : placeAfter(last.position);
    const deliveries = here.filter((event) => wants(endpoint, event)).map((event) => ({ endpointId, event }));
    return this.deliveries.refill(account, endpointId, from, next, deliveries);
  }
}
