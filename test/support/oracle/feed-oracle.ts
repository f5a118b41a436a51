import {
  ABSENCE_MS,
  CLOCK_TOLERANCE_MS,
  MessageCheck,
  type Report,
  type Rule,
  type EmittedEvent,
} from './message-check.js';
import { type LedgerEntry, type Presence, Truth } from './truth.js';

/** A violation of a rule. */
export interface Fault {
  readonly rule: Rule;
  readonly about: string;
}

/**
 * Checks the events of a feed against the changes and replies in the simulator's ledger. Uses only the ledger and the
 * public format of events, and shares no code with the product.
 */
export class FeedOracle {
  private readonly truth = new Truth();

  observe(entries: readonly LedgerEntry[]): void {
    for (const entry of entries) this.truth.observe(entry);
  }

  /** Ends the baseline: the feed has read everything once, and the following entries are changes. */
  endBaseline(): void {
    this.truth.endBaseline();
  }

  /** Numbers of changes, replies and events, for a report. */
  counts(events: readonly EmittedEvent[]): Record<string, unknown> {
    const { changes, pages, lists } = this.truth;
    const emitted: Record<string, number> = {};
    for (const { type } of events) emitted[type] = (emitted[type] ?? 0) + 1;
    return {
      changes: [...changes.values()].reduce((sum, count) => sum + count, 0),
      changesByKind: Object.fromEntries(changes),
      pagesServed: pages,
      listsServed: lists,
      events: events.length,
      eventsByType: emitted,
      arrivalLagMs: this.arrivalLags(events),
    };
  }

  /** Times from a message's appearance upstream to its event. */
  private arrivalLags(events: readonly EmittedEvent[]): Record<string, number> {
    const lags = events
      .filter(({ type }) => /^message\.(received|sent|created)$/.test(type))
      .map(({ data, timestamp }) => {
        const { id } = data['message'] as { id?: string };
        return Date.parse(timestamp) - (this.truth.messages.get(id ?? '')?.forms[0]?.since ?? NaN);
      })
      .sort((a, b) => a - b);
    const at = (part: number): number => lags[Math.floor(part * (lags.length - 1))] ?? NaN;
    return { median: at(0.5), p95: at(0.95), longest: at(1) };
  }

  /** Returns all violations in a complete log, which was read in order after all changes had ended. */
  judge(events: readonly EmittedEvent[]): Fault[] {
    const faults: Fault[] = [];
    const report: Report = (rule, about) => faults.push({ rule, about });
    checkSequences(events, report);
    this.checkMessages(events, report);
    this.checkContacts(events, report);
    return faults;
  }

  private checkMessages(events: readonly EmittedEvent[], report: Report): void {
    const checks = new Map(
      [...this.truth.messages].map(([id, message]) => [id, new MessageCheck(message, report)]),
    );
    for (const event of events.filter(({ type }) => type.startsWith('message.'))) {
      const id = (event.data['message'] as { id?: unknown } | undefined)?.id;
      const check = checks.get(String(id));
      if (check === undefined || this.truth.messages.get(String(id))?.contactId !== event.contactId)
        report('false', `${event.type} of ${String(id)}: the message does not exist`);
      else check.check(event);
    }
    for (const [id, check] of checks) {
      const contact = this.truth.contacts.get(this.truth.messages.get(id)?.contactId ?? '');
      check.finish(contact?.there === true);
    }
  }

  private checkContacts(events: readonly EmittedEvent[], report: Report): void {
    const deleted = new Set<string>();
    let updates = 0;
    for (const { type, contactId = '', timestamp } of events) {
      const about = `${type} of ${contactId}`;
      const presence = this.truth.contacts.get(contactId);
      if (type === 'contact.deleted') {
        if (deleted.has(contactId)) report('double', about);
        if (!isMissingLongEnough(presence, Date.parse(timestamp))) report('false deletion', about);
        deleted.add(contactId);
      } else if (type === 'contact.created') {
        // In these tests, all contacts exist from the first list on.
        if (!deleted.delete(contactId)) report('double', about);
      } else if (type === 'contact.updated') {
        updates += 1;
      } else if (type === 'contact.resynced' || type === 'account.suspect') {
        report('false', `${about}: no contact was lost or hidden`);
      }
    }
    if (updates > this.truth.contactChanges) report('double', `${updates} contact.updated events`);
    for (const [id, { there }] of this.truth.contacts) {
      if (!there && !deleted.has(id)) report('late deletion', `contact ${id} is deleted`);
      if (there && deleted.has(id)) report('miss', `contact ${id} returned`);
    }
  }
}

function isMissingLongEnough(presence: Presence | undefined, at: number): boolean {
  const gone = presence?.missingSince(at);
  return gone !== undefined && at - gone >= ABSENCE_MS - CLOCK_TOLERANCE_MS;
}

function checkSequences(events: readonly EmittedEvent[], report: Report): void {
  const ids = new Set<string>();
  const last = new Map<string, number>();
  for (const { id, type, contactId = '', sequence } of events) {
    if (ids.has(id)) report('gap', `the event id ${id} is duplicate`);
    ids.add(id);
    const counter = /^(message|contact)\./.test(type) ? contactId : '';
    const expected = (last.get(counter) ?? 0) + 1;
    if (sequence !== expected)
      report('gap', `${type} of ${contactId} has the sequence ${sequence} instead of ${expected}`);
    last.set(counter, sequence);
  }
}
