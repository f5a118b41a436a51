import { type Event, type EventStream, type LiveChange, type Tidings, TidingsError } from '#client';

/** A subscription of a part of the console to live events. */
export interface LiveListener {
  /** Event types and patterns; also `conversation.updated` and `send.updated`. */
  types: readonly string[];
  /** Called with each event, oldest first. */
  onEvent?: (event: Event) => void;
  /** Called with each change that the gateway does not store. */
  onChange?: (change: LiveChange) => void;
  /**
   * Called when the listener may have missed changes, so that it reads its data again: when the first connection
   * opens, and when a connection opens again if `types` contains changes that the gateway does not store. Stored
   * events are missed only if there was no connection for longer than the gateway keeps the events.
   */
  onGap?: () => void;
}

/** Whether events arrive. `off`: the API key may not read events. */
export type LiveState = 'connecting' | 'open' | 'lost' | 'off';

/**
 * Time to wait for further listeners before the stream is opened with the types of all listeners, in milliseconds.
 */
const SETTLE_MS = 50;
/** Time to wait after the gateway, or a proxy before it, rejected a connection, in milliseconds. */
const AFTER_REJECTION_MS = 15_000;
/** Types of changes that the gateway does not store. */
const NOT_STORED: ReadonlySet<string> = new Set(['conversation.updated', 'send.updated']);
/** Maximum number of patterns in a request. */
const MAX_TYPES = 50;

/**
 * Receives the events of the account for all parts of the console over one connection, because browsers open only six
 * connections to a host. The connection requests the types that the current listeners want. When these types change,
 * the connection is opened again, and continues after the last event, so that no event is lost.
 */
export class LiveEvents {
  private readonly listeners = new Set<LiveListener>();
  private readonly stateListeners = new Set<() => void>();
  private state: LiveState;
  private connection: AbortController | undefined;
  private types = '';
  private stream: EventStream | undefined;
  private settling: ReturnType<typeof setTimeout> | undefined;
  private isPaused = false;

  constructor(
    private readonly client: Pick<Tidings, 'events'>,
    private readonly isAllowed: boolean,
  ) {
    this.state = isAllowed ? 'connecting' : 'off';
  }

  get snapshot(): LiveState {
    return this.state;
  }

  /** Calls the listener after each change of the state, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.stateListeners.add(listener);
    return () => {
      this.stateListeners.delete(listener);
    };
  }

  /** Passes events to the listener, until the returned function is called. */
  listen(listener: LiveListener): () => void {
    this.listeners.add(listener);
    this.settle();
    return () => {
      this.listeners.delete(listener);
      this.settle();
    };
  }

  /** Closes the connection. The position in the event log stays. */
  pause(): void {
    this.isPaused = true;
    this.settle();
  }

  /** Opens the connection again after {@link pause}, after the last received event. */
  resume(): void {
    this.isPaused = false;
    this.settle();
  }

  /** Closes the connection for good. */
  close(): void {
    clearTimeout(this.settling);
    this.connection?.abort();
    this.listeners.clear();
  }

  private settle(): void {
    if (!this.isAllowed) return;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.reconnect();
    }, SETTLE_MS);
  }

  private reconnect(): void {
    if (this.isPaused) {
      this.connection?.abort();
      this.connection = undefined;
      this.setState('connecting');
      return;
    }
    const wanted = [...new Set([...this.listeners].flatMap(({ types }) => types))].sort();
    // The gateway accepts at most MAX_TYPES patterns. If there are more, all events and changes are requested.
    const types = wanted.length > MAX_TYPES || wanted.includes('*') ? ['*', ...NOT_STORED] : wanted;
    const text = types.join(',');
    if (text === this.types && this.connection !== undefined) return;
    this.connection?.abort();
    this.connection = undefined;
    this.types = text;
    if (types.length === 0) {
      // Without a listener, the position is dropped: a later listener reads its data again and needs only later events.
      this.stream = undefined;
      this.setState('connecting');
      return;
    }
    const connection = new AbortController();
    this.connection = connection;
    void this.follow(types, connection.signal);
  }

  /** Follows the events until the signal is aborted. */
  private async follow(types: readonly string[], signal: AbortSignal): Promise<void> {
    while (!isAborted(signal)) {
      try {
        await this.followOnce(types, signal);
      } catch (error) {
        if (isAborted(signal)) return;
        if (error instanceof TidingsError && error.code === 'cursor_expired') {
          // The log no longer has the events after the cursor, so the stream continues with new events.
          this.stream = undefined;
        } else {
          this.setState('lost');
          await pause(AFTER_REJECTION_MS, signal);
        }
      }
    }
  }

  /**
   * Follows the events until the signal is aborted.
   * @throws {TidingsError} if the gateway, or a proxy before it, rejects the request
   */
  private async followOnce(types: readonly string[], signal: AbortSignal): Promise<void> {
    const after = this.stream?.cursor ?? 'now';
    let isContinued = after !== 'now';
    const stream = this.client.events({
      types,
      after,
      signal,
      onConnect: () => {
        this.setState('open');
        for (const { types: wanted, onGap } of this.listeners)
          if (!isContinued || wanted.some((type) => NOT_STORED.has(type))) onGap?.();
        isContinued = true;
      },
      onDisconnect: () => {
        if (!signal.aborted) this.setState('lost');
      },
      onLiveChange: (change) => {
        for (const { types: wanted, onChange } of this.listeners)
          if (isWanted(wanted, change.type)) onChange?.(change);
      },
    });
    this.stream = stream;
    for await (const event of stream) {
      for (const { types: wanted, onEvent } of this.listeners)
        if (isWanted(wanted, event.type)) onEvent?.(event);
    }
  }

  private setState(state: LiveState): void {
    if (this.state === state) return;
    this.state = state;
    for (const listener of this.stateListeners) listener();
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** Resolves after the time, or when the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

function isWanted(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type,
  );
}
