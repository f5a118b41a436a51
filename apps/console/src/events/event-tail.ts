import type { Event, EventList } from '#client';

/** Maximum number of events that are kept, and number of stored events that are read at once. */
export const MAX_ROWS = 500;
/** Number of ids that are remembered to recognize an event that was read and also arrived live. */
const MAX_IDS = 4 * MAX_ROWS;
/**
 * Maximum number of requests until the user is asked whether to read on. With a filter, one request examines at
 * most 5,000 events.
 */
const MAX_READS = 20;
/** Minimum time between two renderings, in milliseconds. */
const RENDER_MS = 250;

/** The state of a tail. */
export interface TailState {
  /** Newest first. */
  rows: readonly Event[];
  /** Number of events that arrived while the rows were held. */
  waiting: number;
  /** True while stored events are read. */
  isReading: boolean;
  /** True if further stored events can be read. New events are shown once all are read. */
  hasMore: boolean;
  error: unknown;
}

interface TailOptions {
  /** Reads stored events after a cursor. Undefined stands for the position at which the tail begins. */
  read: (after: string | undefined) => Promise<EventList>;
  /** True if reading stops once the tail is full, so that the user sees the oldest events too. */
  stopsWhenFull: boolean;
}

const EMPTY: TailState = { rows: [], waiting: 0, isReading: false, hasMore: false, error: undefined };

/**
 * The latest events of the account: first stored events, then events as they arrive. However many events arrive, the
 * tail keeps a limited number of them, and reports changes at a limited rate.
 */
export class EventTail {
  private state = EMPTY;
  private readonly listeners = new Set<() => void>();
  /** Newest last. */
  private rows: Event[] = [];
  /** Events that arrived while the rows were held, or while stored events were read. Newest last. */
  private waiting: Event[] = [];
  private waitingCount = 0;
  private readonly ids = new Set<string>();
  private isHeld = false;
  private isReading = false;
  private mustCatchUp = false;
  private hasMore = true;
  private isClosed = false;
  private cursor: string | undefined;
  private error: unknown;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: TailOptions) {}

  get snapshot(): TailState {
    return this.state;
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** Adds an event that arrived. */
  receive(event: Event): void {
    if (this.ids.has(event.id)) return;
    if (this.isHeld || this.hasMore) {
      this.waiting.push(event);
      this.waitingCount += 1;
      if (this.waiting.length >= 2 * MAX_ROWS) this.waiting = this.waiting.slice(-MAX_ROWS);
    } else this.add([event]);
    this.renderSoon();
  }

  /**
   * If `isHeld` is true, stops changing the rows, so that the user can read them. Otherwise shows the events that
   * arrived in the meantime.
   */
  hold(isHeld: boolean): void {
    if (this.isHeld === isHeld) return;
    this.isHeld = isHeld;
    this.release();
    this.render();
  }

  /**
   * Reads stored events until all are read or {@link MAX_READS} requests were made, or with `stopsWhenFull` until the
   * tail is full.
   */
  async readOn(): Promise<void> {
    if (this.isReading || !this.hasMore) return;
    this.isReading = true;
    this.error = undefined;
    this.render();
    try {
      let added = 0;
      for (let reads = 0; this.hasMore && reads < MAX_READS && !this.isClosed; reads += 1) {
        const { events, next, hasMore } = await this.options.read(this.cursor);
        this.add(events);
        added += events.length;
        this.cursor = next;
        this.hasMore = hasMore;
        this.renderSoon();
        if (this.options.stopsWhenFull && added >= MAX_ROWS) break;
      }
    } catch (error) {
      this.error = error;
    }
    this.isReading = false;
    this.release();
    this.render();
    if (this.mustCatchUp) await this.catchUp();
  }

  /** Reads the events that were stored after the last read and before new events began to arrive. */
  async catchUp(): Promise<void> {
    this.mustCatchUp = this.isReading;
    if (this.cursor === undefined || this.isReading || this.hasMore) return;
    this.hasMore = true;
    await this.readOn();
  }

  /** Stops the reports to listeners. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.listeners.clear();
  }

  private release(): void {
    if (this.isHeld || this.hasMore) return;
    this.add(this.waiting);
    this.waiting = [];
    this.waitingCount = 0;
  }

  private add(events: readonly Event[]): void {
    let isInOrder = true;
    for (const event of events) {
      if (this.ids.has(event.id)) continue;
      this.ids.add(event.id);
      isInOrder &&= (this.rows.at(-1)?.timestamp ?? '') <= event.timestamp;
      this.rows.push(event);
    }
    // Some events were read after later events had arrived.
    if (!isInOrder) this.rows.sort((one, other) => one.timestamp.localeCompare(other.timestamp));
    if (this.rows.length >= 2 * MAX_ROWS) this.rows = this.rows.slice(-MAX_ROWS);
    for (const id of this.ids) {
      if (this.ids.size <= MAX_IDS) break;
      this.ids.delete(id);
    }
  }

  private renderSoon(): void {
    this.timer ??= setTimeout(() => {
      this.render();
    }, RENDER_MS);
  }

  private render(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.isClosed) return;
    this.state = {
      rows: this.rows.slice(-MAX_ROWS).reverse(),
      waiting: this.waitingCount,
      isReading: this.isReading,
      hasMore: this.hasMore,
      error: this.error,
    };
    for (const listener of this.listeners) listener();
  }
}
