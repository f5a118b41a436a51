import { Faults } from './faults.js';
import { Ledger } from './ledger.js';
import type { LedgerEntry } from './ledger-entries.js';
import type { Settings } from './settings.js';
import { DEFAULT_SETTINGS, mergeSettings } from './settings.js';
import type { RandomStreams } from './world/random.js';
import { streamsFromSeed, streamsFromState } from './world/random.js';
import type { ContactRecord, WorldHeader } from './world/snapshot.js';
import { restoreWorld } from './world/snapshot.js';
import { World } from './world/world.js';

export interface CoreOptions {
  /** The account's own number, E.164. */
  readonly accountNumber: string;
  readonly seed: number;
  /** Knobs that differ from the defaults, at the start and after each reset. */
  readonly settings: unknown;
}

export interface ResetOptions {
  readonly seed?: number | undefined;
  readonly settings?: unknown;
  /** Where a manual clock begins, in ms since 1970. */
  readonly now?: number | undefined;
}

/** What an earlier run left. */
export interface SavedState {
  readonly seed: number;
  readonly settings: unknown;
  /** The knobs that run was started with. */
  readonly startSettings: unknown;
  readonly world: WorldHeader;
  readonly contacts: readonly ContactRecord[];
  readonly ledger: { readonly entries: readonly LedgerEntry[]; readonly next: number };
}

export type Change =
  /** Something of this contact; null: anything may have changed. */
  | { readonly of: 'world'; readonly contactId: string | null }
  /** The ledger has one entry more. */
  | { readonly of: 'ledger' };

export type ChangeListener = (change: Change) => void;

/** Longest wait that a timer of Node.js can hold. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The simulator without its HTTP side: one world at a time, its knobs, faults and ledger, and the timer that drives it. */
export class SimulatorCore {
  readonly ledger: Ledger;
  readonly faults: Faults;
  #settings: Settings;
  #seed: number;
  #world: World;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  readonly #listeners = new Set<ChangeListener>();
  readonly #resets = new Set<() => void>();

  constructor(private readonly options: CoreOptions) {
    this.#settings = mergeSettings(DEFAULT_SETTINGS, options.settings ?? {});
    this.#seed = options.seed;
    this.ledger = new Ledger(
      () => this.#settings.ledgerLimit,
      () => {
        this.#tell({ of: 'ledger' });
      },
    );
    this.faults = new Faults(() => this.#world.random.faults);
    this.#world = this.#newWorld(streamsFromSeed(this.#seed));
    this.#begin();
  }

  get settings(): Readonly<Settings> {
    return this.#settings;
  }

  get seed(): number {
    return this.#seed;
  }

  get world(): World {
    return this.#world;
  }

  /** Does something with the world as it is now, and lets happen what that makes due. */
  act<T>(work: (world: World) => T): T {
    this.#catchUp();
    try {
      return work(this.#world);
    } finally {
      this.#catchUp();
      this.#arm();
    }
  }

  /** @throws InvalidInput naming the knob; then nothing has changed. */
  updateSettings(patch: unknown): Readonly<Settings> {
    const before = this.#settings;
    const after = mergeSettings(before, patch);
    // What was due until now happens under the old knobs.
    this.act(() => undefined);
    this.#settings = after;
    if (before.sortBy !== after.sortBy) this.#world.messages.resort(this.#world.contacts.all());
    if (before.clock !== after.clock) this.#setClock(undefined);
    this.act(() => undefined);
    this.#tell({ of: 'world', contactId: null });
    return this.#settings;
  }

  /** A new, empty world with its own seed and knobs; ledger and faults are empty too. */
  reset({ seed, settings, now }: ResetOptions = {}): void {
    const base = mergeSettings(DEFAULT_SETTINGS, this.startSettings);
    this.#settings = mergeSettings(base, settings ?? {}, 'settings');
    this.#seed = seed ?? this.#seed;
    this.#world = this.#newWorld(streamsFromSeed(this.#seed));
    this.faults.clear();
    this.ledger.clear();
    this.#setClock(now);
    this.#begin();
    for (const reset of this.#resets) reset();
    this.#tell({ of: 'world', contactId: null });
  }

  /** The knobs it was started with. */
  get startSettings(): unknown {
    return this.options.settings ?? {};
  }

  /**
   * Goes on from what an earlier run left. Its knobs hold, unless this run was started with other ones than that.
   * @throws InvalidInput for knobs that are none.
   */
  restore(saved: SavedState): void {
    const settings = mergeSettings(DEFAULT_SETTINGS, saved.settings);
    const sameStart = JSON.stringify(saved.startSettings) === JSON.stringify(this.startSettings);
    this.#settings = sameStart ? settings : mergeSettings(settings, this.startSettings);
    this.#seed = saved.seed;
    this.#world = this.#newWorld(streamsFromState(saved.world.random));
    restoreWorld(this.#world, saved.world, saved.contacts);
    if (this.#world.clock.manual !== (this.#settings.clock === 'manual')) this.#setClock(undefined);
    this.ledger.restore(saved.ledger.entries, saved.ledger.next);
    this.#recordStart('restored');
    this.act(() => undefined);
    this.#tell({ of: 'world', contactId: null });
  }

  /** Calls `listener` at each change, which must not act on the world itself. Returns the way out. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As `onChange`, for what is tied to the old world when a new one begins. */
  onReset(listener: () => void): () => void {
    this.#resets.add(listener);
    return () => this.#resets.delete(listener);
  }

  /** Nothing happens by itself any more. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  #newWorld(random: RandomStreams): World {
    return new World({
      accountNumber: this.options.accountNumber,
      random,
      settings: () => this.#settings,
      record: (event) => {
        this.ledger.record(event);
      },
      changed: (contactId) => {
        this.#tell({ of: 'world', contactId });
      },
    });
  }

  #begin(): void {
    if (this.#settings.clock === 'manual' && !this.#world.clock.manual) this.#world.clock.stop();
    this.#recordStart('new');
    if (this.#settings.demo) this.#world.fillForDemo();
    this.#arm();
  }

  #recordStart(how: 'new' | 'restored'): void {
    this.ledger.record({ kind: 'simulator.started', detail: { world: how, seed: this.#seed } });
  }

  #setClock(now: number | undefined): void {
    if (this.#settings.clock === 'manual') this.#world.clock.stop(now);
    else this.#world.clock.run();
  }

  /** In real time, what is overdue happens before anything else does; a manual clock runs what is due at its now. */
  #catchUp(): void {
    if (!this.#closed) this.#world.runDue();
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const due = this.#world.timetable.nextDue;
    if (this.#closed || due === null || this.#world.clock.manual) return;
    const wait = Math.min(LONGEST_TIMER_MS, Math.max(0, due - Date.now()));
    this.#timer = setTimeout(() => {
      this.act(() => undefined);
    }, wait);
  }
}
