import type { LedgerEntry, LedgerEvent } from './ledger-entries.js';

/** Ids that served lists may hold together: a bound on memory beside the number of entries. */
const MOST_SERVED_IDS = 20_000_000;

export interface LedgerQuery {
  /** Only entries with this index or a greater one. */
  readonly since?: number;
  /** Only these kinds; `message.*` stands for all that begin with `message.`. Empty: all. */
  readonly kinds?: readonly string[];
  readonly limit?: number;
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  /** What to pass as `since` to read on. */
  readonly next: number;
  readonly hasMore: boolean;
  /** The index of the oldest entry that is kept. */
  readonly first: number;
  /** How many entries were dropped because the ledger was full. */
  readonly dropped: number;
}

/**
 * Everything that happened, in order, append-only: the truth against which an outside oracle measures a client.
 * Indexes count up by one from 0 and are never used twice until `clear`.
 */
export class Ledger {
  #entries: LedgerEntry[] = [];
  #first = 0;
  #dropped = 0;
  #servedIds = 0;
  #epoch = 0;

  /** @param limit how many entries to keep; asked anew at each entry. */
  constructor(
    private readonly limit: () => number,
    private readonly appended: () => void,
  ) {}

  get first(): number {
    return this.#first;
  }

  get next(): number {
    return this.#first + this.#entries.length;
  }

  /** Goes up when indexes begin anew. */
  get epoch(): number {
    return this.#epoch;
  }

  record(event: LedgerEvent): void {
    this.#entries.push({ index: this.next, time: Date.now(), ...event });
    this.#servedIds += weight(event);
    this.#drop();
    this.appended();
  }

  read(query: LedgerQuery = {}): LedgerPage {
    const limit = query.limit ?? Number.POSITIVE_INFINITY;
    const wanted = matcher(query.kinds ?? []);
    const entries: LedgerEntry[] = [];
    let position = Math.max(0, (query.since ?? 0) - this.#first);
    for (; position < this.#entries.length && entries.length < limit; position++) {
      const entry = this.#entries[position];
      if (entry !== undefined && wanted(entry.kind)) entries.push(entry);
    }
    return {
      entries,
      next: Math.max(this.#first + position, query.since ?? 0),
      hasMore: position < this.#entries.length,
      first: this.#first,
      dropped: this.#dropped,
    };
  }

  clear(): void {
    this.#entries = [];
    this.#first = 0;
    this.#dropped = 0;
    this.#servedIds = 0;
    this.#epoch += 1;
  }

  /** Puts back what an earlier run kept, without gaps; `next` is the first index that was not used yet. */
  restore(entries: readonly LedgerEntry[], next: number): void {
    this.clear();
    const whole = (entries.at(-1)?.index ?? -1) + 1 >= next;
    this.#entries = whole ? [...entries] : [];
    this.#first = this.#entries[0]?.index ?? next;
    this.#dropped = this.#first;
    for (const entry of this.#entries) this.#servedIds += weight(entry);
    this.#drop();
  }

  /** Drops an eighth at a time: to shift the array for every entry would make each one cost the whole ledger. */
  #drop(): void {
    if (this.#entries.length <= this.limit() && this.#servedIds <= MOST_SERVED_IDS) return;
    const over = Math.max(0, this.#entries.length - this.limit());
    const gone = this.#entries.splice(0, Math.max(over, 1, Math.floor(this.#entries.length / 8)));
    for (const entry of gone) this.#servedIds -= weight(entry);
    this.#first += gone.length;
    this.#dropped += gone.length;
  }
}

function weight(event: LedgerEvent): number {
  return event.kind === 'list.served' ? event.ids.length : 0;
}

function matcher(kinds: readonly string[]): (kind: string) => boolean {
  if (kinds.length === 0) return () => true;
  const exact = new Set(kinds);
  const prefixes = kinds.filter((kind) => kind.endsWith('.*')).map((kind) => kind.slice(0, -1));
  return (kind) => exact.has(kind) || prefixes.some((prefix) => kind.startsWith(prefix));
}
