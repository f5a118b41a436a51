import { randomBytes } from 'node:crypto';
import type { Simulator } from '../../apps/simulator/src/create-simulator.js';
import { contactOnWire, messageOnWire } from '../../apps/simulator/src/wire-shapes.js';
import type { Contact, Message } from '../../apps/simulator/src/world/entities.js';
import type { PageRead, ObservedMessage } from './oracle.js';

/** Records what the simulator puts into its replies. */
export class UpstreamWitness {
  private lastPage: Omit<PageRead, 'limit'> | undefined;
  private lastList: { id: string; wire: string }[] | undefined;
  private world = 0;

  constructor(private readonly simulator: Simulator) {
    simulator.core.onChange(({ of }) => {
      if (of === 'world') this.world += 1;
      else this.note();
    });
  }

  /**
   * Forgets the last reply. Called before a request, so that the reply to an earlier failed request is not
   * used.
   */
  forget(): void {
    this.lastPage = undefined;
    this.lastList = undefined;
  }

  /** Returns the page served by the last request, as the client received it. */
  page(
    contactId: string,
    page: number,
    limit: number,
    fault: { kind: string; position: number } | undefined,
  ): PageRead {
    const served = this.lastPage === undefined ? undefined : { ...this.lastPage, limit };
    // No page was served: a fault replaced the page by an empty one.
    if (served === undefined) {
      const truth = this.truth(contactId);
      return { ...truth, page, limit, elements: 0, seen: [], veiled: true, sound: false };
    }
    if (fault?.kind === 'poisonReplace') {
      const at = Math.min(fault.position, Math.max(served.seen.length - 1, 0));
      const seen = served.seen.filter((_, n) => n !== at);
      return { ...served, elements: Math.max(served.seen.length, 1), seen, sound: false };
    }
    if (fault?.kind === 'poisonInsert') {
      return { ...served, elements: served.seen.length + 1, sound: false };
    }
    return served;
  }

  /** Returns a page after the last one, which upstream did not serve. */
  pageAfterEnd(contactId: string, page: number, limit: number): PageRead {
    return { ...this.truth(contactId), page, limit, elements: 0, seen: [], veiled: false, sound: true };
  }

  /** Returns the contact list that was served last. */
  contacts(): { id: string; wire: string }[] {
    return this.lastList ?? [];
  }

  /** Returns the current messages of a contact. */
  messages(contactId: string): ObservedMessage[] {
    const contact = this.simulator.core.world.contacts.findListed(contactId);
    return (contact?.messages ?? []).map((message) => this.seen(message));
  }

  private note(): void {
    const { ledger } = this.simulator;
    const entry = ledger.read({ since: ledger.next - 1 }).entries[0];
    if (entry?.kind !== 'list.served') return;
    const { core } = this.simulator;
    if (entry.contactId === null) {
      this.lastList = entry.ids.flatMap((id) => {
        const contact = core.world.contacts.find(id);
        return contact === undefined ? [] : [{ id, wire: this.wireOf(contact) }];
      });
      return;
    }
    const seen = entry.ids.flatMap((id) => {
      const message = core.world.messages.find(id);
      return message === undefined ? [] : [this.seen(message)];
    });
    const veiled = core.settings.outage === true || core.settings.outage === 'messages';
    this.lastPage = {
      ...this.truth(entry.contactId),
      ...{ page: entry.page ?? 1, elements: seen.length, seen, veiled, sound: true },
    };
  }

  private truth(contactId: string): Pick<PageRead, 'listed' | 'world' | 'order' | 'pageSize' | 'inOrder'> {
    const { settings, world } = this.simulator.core;
    const messages = world.contacts.findListed(contactId)?.messages ?? [];
    const listed = messages.map(({ id }) => id);
    const pageSize = settings.limitIgnored ? 20 : Math.min(20, settings.limitCap ?? 20);
    const inOrder = countsAsSorted(
      messages.map(({ timestamp }) => timestamp),
      pageSize,
    );
    return { listed, world: this.world, order: settings.order, pageSize, inOrder };
  }

  private wireOf(contact: Contact): string {
    return JSON.stringify(contactOnWire(contact, this.simulator.core.settings));
  }

  private seen(message: Message): ObservedMessage {
    const wire = messageOnWire(message, this.simulator.core.settings);
    const { status, ...rest } = wire;
    const stamp = wire['timestamp'];
    const timestamp = typeof stamp === 'string' ? Date.parse(stamp) : stamp;
    const { id, direction, delivered, read } = message;
    return {
      ...{ id, delivered, read },
      kind: direction === 'inbound' || direction === 'outbound' ? direction : 'other',
      ...(typeof timestamp === 'number' ? { timestamp } : {}),
      rest: JSON.stringify({ ...rest, status: typeof status }),
      wire: JSON.stringify(wire),
    };
  }
}

/** Returns a unique key prefix for one history. */
export function freshPrefix(): string {
  return `property-${randomBytes(6).toString('hex')}`;
}

/** Returns true if no message has more older messages after it than the product promises to tolerate. */
function countsAsSorted(timestamps: readonly number[], pageSize: number): boolean {
  const runs = timestamps.filter((timestamp, n) => timestamp !== timestamps[n - 1]).length;
  const most = Math.min(Math.floor(pageSize / 4), Math.floor(runs / 10), 5);
  return timestamps.every(
    (timestamp, n) => timestamps.slice(n + 1).filter((later) => later < timestamp).length <= most,
  );
}
