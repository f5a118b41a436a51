import { setTimeout as pause } from 'node:timers/promises';

/** A verb of the simulator's control interface. */
export type Simulate = <T>(verb: string, body?: object) => Promise<T>;

/** What the driver is to do. */
export interface DrivePlan {
  /** How many changes, evenly over… */
  changes: number;
  /** …so many milliseconds. */
  durationMs: number;
  /** The same seed makes the same choices. */
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
/** More deletions of one contact's messages would look like an outage, as would more contacts. */
const MOST_DELETED_OF_ONE = 5;
const MOST_CONTACTS_DELETED = 8;

/**
 * Changes a simulated world at a steady pace: arrivals both ways, flags forth and back, edits, deletions, and a few
 * contacts that go, of which half come back. It knows nothing of the product.
 */
export class ChangeDriver {
  private readonly messages: DrivenMessage[] = [];
  private readonly deletedOf = new Map<string, number>();
  private readonly away: string[] = [];
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

  /** Messages that the driver may change from now on, too. */
  adopt(contactId: string, ids: readonly string[], flags: { delivered: boolean; read: boolean }): void {
    for (const id of ids) this.messages.push({ id, contactId, ...flags, deleted: false });
  }

  /** Resolves when all changes are made; how many they were. */
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

  /** One request, of at most `most` changes: how many are planned, and how many it made. */
  private step(most: number): [number, Promise<number>] {
    const dice = this.below(1_000);
    if (dice < 450) return this.insert(Math.min(1 + this.below(3), most));
    if (dice < 750) return this.flag(Math.min(1 + this.below(3), most));
    if (dice < 950) return [1, this.edit()];
    if (dice < 993) return [1, this.delete()];
    return [1, this.comeOrGo()];
  }

  private insert(count: number): [number, Promise<number>] {
    const contactId = this.one(this.contactIds);
    const outbound = this.below(2) === 0;
    return [
      count,
      contactId === undefined ? Promise.resolve(0) : this.insertInto(contactId, count, outbound),
    ];
  }

  private async insertInto(contactId: string, count: number, outbound: boolean): Promise<number> {
    if (this.away.includes(contactId)) return 0;
    this.texts += 1;
    // Some are seen for the first time with a flag that is set already; upstream has got what is inbound.
    const flags = { delivered: !outbound || this.below(4) === 0, read: this.below(8) === 0 };
    const { ids } = await this.simulate<{ ids: string[] }>('messages', {
      ...{ contactId, count, direction: outbound ? 'outbound' : 'inbound', text: `Text ${this.texts}.{n}` },
      ...flags,
    });
    this.adopt(contactId, ids, flags);
    return ids.length;
  }

  private flag(count: number): [number, Promise<number>] {
    const flag = this.below(2) === 0 ? 'delivered' : 'read';
    // Mostly forth, now and then back.
    const value = this.below(6) > 0;
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
    if (before >= MOST_DELETED_OF_ONE) return 0;
    this.deletedOf.set(message.contactId, before + 1);
    message.deleted = true;
    return await this.change('messages/delete', { id: message.id }, [message.id]);
  }

  private async comeOrGo(): Promise<number> {
    // The first half stays away.
    if (this.away.length > MOST_CONTACTS_DELETED / 2) {
      const contactId = this.away.pop() ?? '';
      return await this.change('contacts/restore', { contactId }, [contactId]);
    }
    const contactId = this.one(this.contactIds);
    if (contactId === undefined || this.away.includes(contactId)) return 0;
    if (this.contactsDeleted >= MOST_CONTACTS_DELETED) return 0;
    this.contactsDeleted += 1;
    this.away.push(contactId);
    return await this.change('contacts/delete', { contactId }, [contactId]);
  }

  private async change(verb: string, body: object, about: readonly string[]): Promise<number> {
    await this.simulate(verb, body);
    return about.length;
  }

  /** One that is there, newer ones more often, as in life. */
  private message(fits: (message: DrivenMessage) => boolean = () => true): DrivenMessage | undefined {
    for (let tries = 0; tries < 20; tries += 1) {
      const recent = this.below(2) === 0 ? Math.min(this.messages.length, 400) : this.messages.length;
      const message = this.messages[this.messages.length - 1 - this.below(recent)];
      if (message === undefined || message.deleted || this.away.includes(message.contactId)) continue;
      if (fits(message)) return message;
    }
    return undefined;
  }

  private one<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }

  /** A whole number from 0 up to, not including, `most`: xorshift, so that a run can be made again. */
  private below(most: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return most === 0 ? 0 : (this.state >>> 0) % most;
  }
}
