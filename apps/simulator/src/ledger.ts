import type { LedgerEntry, LedgerEvent } from './ledger-entries.js';

/** Maximum estimated memory of all entries together, in bytes. An entry may contain a long text or list. */
const MAX_BYTES = 640_000_000;
/** Estimated memory of an id in a served list, with its flags and revision, in bytes. The list shares the id's text. */
const SERVED_ID_BYTES = 16;

/** Conditions for reading the ledger. */
export interface LedgerQuery {
  /** Only entries with at least this index. */
  readonly since?: number;
  /** Only these kinds. `message.*` matches all kinds that start with `message.`. Empty: all kinds. */
  readonly kinds?: readonly string[];
  readonly limit?: number;
}

/** A page of ledger entries. */
export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  /** Value of `since` for the next page. */
  readonly next: number;
  readonly hasMore: boolean;
  /** Index of the oldest kept entry. */
  readonly first: number;
  /** Number of entries that were dropped because the ledger was full. */
  readonly dropped: number;
}

/**
 * Append-only log of everything that happened in the simulator. Tests compare a client's view with this log.
 * Indexes count up from 0 and are never reused until `clear`.
 */
export class Ledger {
  #entries: LedgerEntry[] = [];
  /** Estimated memory of each entry, in bytes. */
  #sizes: number[] = [];
  #first = 0;
  #dropped = 0;
  #bytes = 0;
  #epoch = 0;

  /**
   * @param limit maximum number of entries; called for each new entry
   * @param maxBytes maximum estimated memory of all entries together, in bytes
   */
  constructor(
    private readonly limit: () => number,
    private readonly appended: () => void,
    private readonly maxBytes = MAX_BYTES,
  ) {}

  get first(): number {
    return this.#first;
  }

  get next(): number {
    return this.#first + this.#entries.length;
  }

  /** Increases each time the ledger is cleared or restored. */
  get epoch(): number {
    return this.#epoch;
  }

  record(event: LedgerEvent): void {
    this.#entries.push({ index: this.next, time: Date.now(), ...event });
    this.#addSize(event);
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
    this.#sizes = [];
    this.#first = 0;
    this.#dropped = 0;
    this.#bytes = 0;
    this.#epoch += 1;
  }

  /**
   * Restores the entries of an earlier run. If the last entries are missing, restores no entry, so that the indexes
   * have no gap.
   * @param next the first unused index
   */
  restore(entries: readonly LedgerEntry[], next: number): void {
    this.clear();
    const isComplete = (entries.at(-1)?.index ?? -1) + 1 >= next;
    this.#entries = isComplete ? [...entries] : [];
    this.#first = this.#entries[0]?.index ?? next;
    this.#dropped = this.#first;
    for (const entry of this.#entries) this.#addSize(entry);
    this.#drop();
  }

  /**
   * Drops at least an eighth of the entries at a time. Moving the array for every new entry would be too
   * slow.
   */
  #drop(): void {
    while (this.#entries.length > this.limit() || this.#bytes > this.maxBytes) {
      const over = this.#entries.length - this.limit();
      const count = Math.max(over, 1, Math.floor(this.#entries.length / 8));
      this.#entries.splice(0, count);
      for (const size of this.#sizes.splice(0, count)) this.#bytes -= size;
      this.#first += count;
      this.#dropped += count;
    }
  }

  #addSize(event: LedgerEvent): void {
    const size = bytesOf(event);
    this.#sizes.push(size);
    this.#bytes += size;
  }
}

/** Returns the estimated memory of an event, in bytes. */
function bytesOf(event: LedgerEvent): number {
  if (event.kind === 'list.served') return event.ids.length * SERVED_ID_BYTES;
  const text = JSON.stringify(event);
  // Node.js stores a text with one byte per character only if all characters of the text are in Latin-1.
  return /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length;
}

function matcher(kinds: readonly string[]): (kind: string) => boolean {
  if (kinds.length === 0) return () => true;
  const exact = new Set(kinds);
  const prefixes = kinds.filter((kind) => kind.endsWith('.*')).map((kind) => kind.slice(0, -1));
  return (kind) => exact.has(kind) || prefixes.some((prefix) => kind.startsWith(prefix));
}
