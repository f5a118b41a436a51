import { expect } from '@jest/globals';
import type { ReceivedEvent } from '../support/webhook-receiver.js';
import type { Upgraded } from './upgraded.js';

interface Page {
  events: ReceivedEvent[];
  next: string;
}

/** The event log of an account of the snapshot. */
export class Events {
  constructor(
    private readonly upgraded: Upgraded,
    private readonly account: string,
  ) {}

  /** Returns the events that the old build had in its log. */
  before(): ReceivedEvent[] {
    return this.formerPages().flatMap(({ events }) => events);
  }

  /** Returns the events after the last cursor that the old build returned. */
  async later(): Promise<ReceivedEvent[]> {
    return await this.read(`&after=${this.formerPages().at(-1)?.next ?? ''}`);
  }

  async all(): Promise<ReceivedEvent[]> {
    return await this.read('');
  }

  private formerPages(): Page[] {
    return this.upgraded.answersTo(/^\/v1\/events/, this.account);
  }

  private async read(query: string): Promise<ReceivedEvent[]> {
    const path = `/v1/events?limit=1000${query}`;
    return (await this.upgraded.json<Page>('GET', path, undefined, this.account)).events;
  }
}

export function messageIdOf({ data }: ReceivedEvent): string {
  return (data['message'] as { id: string }).id;
}

/** @param first required first sequence of each contact and of the account; if absent, any */
export function expectNoGaps(events: readonly ReceivedEvent[], first?: number): void {
  const sequences = new Map<string, number[]>();
  for (const { contactId = '', sequence } of events)
    sequences.set(contactId, [...(sequences.get(contactId) ?? []), sequence]);
  for (const seen of sequences.values()) {
    const start = first ?? seen[0] ?? 0;
    expect(seen).toEqual(seen.map((_, i) => start + i));
  }
}
