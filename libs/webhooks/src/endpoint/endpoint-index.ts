import { EVENT_TYPES, type EventType, type LoggedEvent, matchesEventType } from '#events';
import type { Endpoint } from './endpoint.js';

/** The filter of an endpoint: which events it receives. */
export type EndpointFilter = Pick<Endpoint, 'id' | 'eventTypes' | 'contactIds'>;

/**
 * Returns true if an event must be delivered to an endpoint. A `webhook.test` event is delivered only to the endpoint
 * that the event names, regardless of the endpoint's filter.
 */
export function isEventForEndpoint(endpoint: EndpointFilter, event: LoggedEvent): boolean {
  if (event.type === 'webhook.test') return testedEndpoint(event) === endpoint.id;
  const { eventTypes, contactIds } = endpoint;
  if (eventTypes !== null && !eventTypes.some((pattern) => matchesEventType(pattern, event.type))) {
    return false;
  }
  return contactIds === null || (event.contactId !== undefined && contactIds.includes(event.contactId));
}

/**
 * Finds the endpoints that an event must be delivered to. The result is the same as if {@link isEventForEndpoint} were
 * called for every endpoint, but the index is faster.
 */
export class EndpointIndex {
  private readonly ids: ReadonlySet<string>;
  private readonly typesOf = new Map<string, ReadonlySet<EventType>>();
  private readonly ofAnyContact: string[] = [];
  private readonly ofContact = new Map<string, string[]>();

  constructor(filters: readonly EndpointFilter[]) {
    this.ids = new Set(filters.map(({ id }) => id));
    for (const { id, eventTypes, contactIds } of filters) {
      if (eventTypes !== null) this.typesOf.set(id, typesIn(eventTypes));
      if (contactIds === null) this.ofAnyContact.push(id);
      for (const contactId of new Set(contactIds)) {
        const others = this.ofContact.get(contactId);
        if (others === undefined) this.ofContact.set(contactId, [id]);
        else others.push(id);
      }
    }
  }

  /** Returns the ids of the endpoints that the event must be delivered to. */
  matching(event: LoggedEvent): string[] {
    if (event.type === 'webhook.test') {
      const tested = testedEndpoint(event);
      return typeof tested === 'string' && this.ids.has(tested) ? [tested] : [];
    }
    const ofContact = event.contactId === undefined ? [] : (this.ofContact.get(event.contactId) ?? []);
    return [...this.ofAnyContact, ...ofContact].filter((id) => this.typesOf.get(id)?.has(event.type) ?? true);
  }
}

function typesIn(patterns: readonly string[]): ReadonlySet<EventType> {
  return new Set(EVENT_TYPES.filter((type) => patterns.some((pattern) => matchesEventType(pattern, type))));
}

function testedEndpoint({ data }: LoggedEvent): unknown {
  return (JSON.parse(data) as { webhookId?: unknown }).webhookId;
}
