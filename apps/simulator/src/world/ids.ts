import type { Settings } from '../settings.js';
import type { RandomStreams } from './random.js';

/** Counters of a world. */
export interface IdCounters {
  serial: number;
  arrival: number;
  sendNumber: number;
  /** Increases when upstream is replaced, so that numeric ids are not reused. */
  generation: number;
}

/** Generates the ids of contacts and messages, and numbers contacts, messages and sends. */
export class Ids {
  readonly counters: IdCounters = { serial: 0, arrival: 0, sendNumber: 0, generation: 0 };

  constructor(
    private readonly random: RandomStreams,
    private readonly settings: () => Readonly<Settings>,
  ) {}

  nextSerial(): number {
    this.counters.serial += 1;
    return this.counters.serial;
  }

  nextArrival(): number {
    this.counters.arrival += 1;
    return this.counters.arrival;
  }

  nextSendNumber(): number {
    this.counters.sendNumber += 1;
    return this.counters.sendNumber;
  }

  contactId(serial: number): string {
    return this.#id('con_', serial);
  }

  messageId(serial: number): string {
    return this.#id('msg_', serial);
  }

  /**
   * Draws from the random generator for numeric ids too, so that the type of ids does not change later draws.
   */
  #id(prefix: string, serial: number): string {
    const drawn = this.random.ids.hex(16);
    if (this.settings().idType === 'string') return prefix + drawn;
    return String(this.counters.generation * 1_000_000_000 + 100_000 + serial);
  }
}
