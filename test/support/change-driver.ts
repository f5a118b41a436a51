import { setTimeout as pause } from 'node:timers/promises';

/** Calls a verb of the simulator's control interface. */
export type Simulate = <T>(verb: string, body?: object) => Promise<T>;

/** Settings of a {@link ChangeDriver}. */
export interface DrivePlan {
  /** Number of changes, spread evenly over the duration. */
  changes: number;
  /** Duration, in milliseconds. */
  durationMs: number;
  /** The same seed gives the same changes. */
  seed: number;
}

interface DrivenMessage {
  id: string;
  contactId: string;
  delivered: boolean;
  read: boolean;
  deleted: boolean;
}

const TICK_MS = 100;
/** With more deletions (of messages of a contact, or of contacts), the feed would assume an outage. */
const MAX_DELETED_PER_CONTACT = 5;
const MAX_DELETED_CONTACTS = 8;

/**
 * Changes the simulator's data at a steady pace: new messages in both directions, changed flags, edits, deletions, and
 * a few deleted contacts, of which half are restored. Uses no code of the product.
 */
export class ChangeDriver {
  private readonly messages: DrivenMessage[] = [];
  private readonly deletedOf = new Map<string, number>();
  private readonly missing: string[] = [];
  private contactsDeleted = 0;
  private texts = 0;
  private state: number;

  constructor(
    private readonly simulate: Simulate,
    private readonly contactIds: readonly string[],
    private readonly plan: DrivePlan,
  ) {
    this.state = plan.seed;
  }

  /** Adds existing messages that the driver may change from now on. */
  adopt(contactId: string, ids: readonly string[], flags: { delivered: boolean; read: boolean }): void {
    for (const id of ids) this.messages.push({ id, contactId, ...flags, deleted: false });
  }

  /** Resolves with the number of changes when all are made. */
  async run(): Promise<number> {
    const { changes, durationMs } = this.plan;
    const began = performance.now();
    let made = 0;
    while (made < changes) {
      const owed = Math.min(Math.ceil(((performance.now() - began) / durationMs) * changes), changes) - made;
      const steps: Promise<number>[] = [];
      for (let planned = 0; planned < owed;) {
        const [size, step] = this.step(owed - planned);
        planned += size;
        steps.push(step);
      }
      for (const count of await Promise.all(steps)) made += count;
      await pause(TICK_MS);
    }
    return made;
  }

  /** Requests at most `max` changes. Returns the number of planned changes and the number of actual changes. */
  private step(max: number): [number, Promise<number>] {
    const dice = this.randomBelow(1_000);
    if (dice < 450) return this.insert(Math.min(1 + this.randomBelow(3), max));
    if (dice < 750) return this.flag(Math.min(1 + this.randomBelow(3), max));
    if (dice < 950) return [1, this.edit()];
    if (dice < 993) return [1, this.delete()];
    return [1, this.deleteOrRestoreContact()];
  }

  private insert(count: number): [number, Promise<number>] {
    const contactId = this.pick(this.contactIds);
    const outbound = this.randomBelow(2) === 0;
    return [
      count,
      contactId === undefined ? Promise.resolve(0) : this.insertInto(contactId, count, outbound),
    ];
  }

  private async insertInto(contactId: string, count: number, outbound: boolean): Promise<number> {
    if (this.missing.includes(contactId)) return 0;
    this.texts += 1;
    // Some messages have a flag from the start. An inbound message always counts as delivered.
    const flags = { delivered: !outbound || this.randomBelow(4) === 0, read: this.randomBelow(8) === 0 };
    const { ids } = await this.simulate<{ ids: string[] }>('messages', {
      ...{ contactId, count, direction: outbound ? 'outbound' : 'inbound', text: `Text ${this.texts}.{n}` },
      ...flags,
    });
    this.adopt(contactId, ids, flags);
    return ids.length;
  }

  private flag(count: number): [number, Promise<number>] {
    const flag = this.randomBelow(2) === 0 ? 'delivered' : 'read';
    // Most changes set the flag, a few clear it.
    const value = this.randomBelow(6) > 0;
    const chosen: DrivenMessage[] = [];
    for (let i = 0; i < count; i += 1) {
      const message = this.message((candidate) => candidate[flag] !== value);
      if (message === undefined) break;
      message[flag] = value;
      chosen.push(message);
    }
    const ids = chosen.map(({ id }) => id);
    const made =
      ids.length === 0 ? Promise.resolve(0) : this.change('messages/flags', { ids, [flag]: value }, ids);
    return [count, made];
  }

  private async edit(): Promise<number> {
    const id = this.message()?.id;
    if (id === undefined) return 0;
    this.texts += 1;
    return await this.change('messages/edit', { id, message: `Edited ${this.texts}` }, [id]);
  }

  private async delete(): Promise<number> {
    const message = this.message();
    if (message === undefined) return 0;
    const before = this.deletedOf.get(message.contactId) ?? 0;
    if (before >= MAX_DELETED_PER_CONTACT) return 0;
    this.deletedOf.set(message.contactId, before + 1);
    message.deleted = true;
    return await this.change('messages/delete', { id: message.id }, [message.id]);
  }

  private async deleteOrRestoreContact(): Promise<number> {
    // The first half stays deleted.
    if (this.missing.length > MAX_DELETED_CONTACTS / 2) {
      const contactId = this.missing.pop() ?? '';
      return await this.change('contacts/restore', { contactId }, [contactId]);
    }
    const contactId = this.pick(this.contactIds);
    if (contactId === undefined || this.missing.includes(contactId)) return 0;
    if (this.contactsDeleted >= MAX_DELETED_CONTACTS) return 0;
    this.contactsDeleted += 1;
    this.missing.push(contactId);
    return await this.change('contacts/delete', { contactId }, [contactId]);
  }

  private async change(verb: string, body: object, about: readonly string[]): Promise<number> {
    await this.simulate(verb, body);
    return about.length;
  }

  /** An existing message that matches. Newer messages are chosen more often, as in real use. */
  private message(fits: (message: DrivenMessage) => boolean = () => true): DrivenMessage | undefined {
    for (let tries = 0; tries < 20; tries += 1) {
      const recent = this.randomBelow(2) === 0 ? Math.min(this.messages.length, 400) : this.messages.length;
      const message = this.messages[this.messages.length - 1 - this.randomBelow(recent)];
      if (message === undefined || message.deleted || this.missing.includes(message.contactId)) continue;
      if (fits(message)) return message;
    }
    return undefined;
  }

  private pick<T>(list: readonly T[]): T | undefined {
    return list[this.randomBelow(list.length)];
  }

  /** A random whole number from 0 to `limit` - 1 (xorshift, so that a run can be repeated). */
  private randomBelow(limit: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return limit === 0 ? 0 : (this.state >>> 0) % limit;
  }
}
