import type { Settings } from '../settings.js';
import type { RandomStreams } from './random.js';

export interface IdCounters {
  serial: number;
  arrival: number;
  sendNumber: number;
  /** Goes up when upstream is replaced, so that numerals are not used again. */
  generation: number;
}

/** Makes ids and counts. */
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

  /** The draw is made for numerals too: the same calls then give the same later draws, whatever the type of ids. */
  #id(prefix: string, serial: number): string {
    const drawn = this.random.ids.hex(16);
    if (this.settings().idType === 'string') return prefix + drawn;
    return String(this.counters.generation * 1_000_000_000 + 100_000 + serial);
  }
}
