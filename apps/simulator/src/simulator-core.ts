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

/** Options of a core. */
export interface CoreOptions {
  /** Phone number of the account, in E.164 format. */
  readonly accountNumber: string;
  readonly seed: number;
  /** Settings that differ from the defaults, applied at the start and after each reset. */
  readonly settings: unknown;
}

/** Options of a reset. */
export interface ResetOptions {
  readonly seed?: number | undefined;
  readonly settings?: unknown;
  /** Start time of a manual clock, in ms since 1970. */
  readonly now?: number | undefined;
}

/** The saved state of an earlier run. */
export interface SavedState {
  readonly seed: number;
  readonly settings: unknown;
  /** The settings that the earlier run was started with. */
  readonly startSettings: unknown;
  readonly world: WorldHeader;
  readonly contacts: readonly ContactRecord[];
  readonly ledger: { readonly entries: readonly LedgerEntry[]; readonly next: number };
}

/** A change that listeners are notified of. */
export type Change =
  /** A change of this contact. Null: everything may have changed. */
  | { readonly of: 'world'; readonly contactId: string | null }
  /** The ledger has a new entry. */
  | { readonly of: 'ledger' };

export type ChangeListener = (change: Change) => void;

/** Maximum delay of a Node.js timer. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * The simulator without HTTP: its world, settings, faults and ledger, and the timer that runs scheduled
 * actions.
 */
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
        this.#notify({ of: 'ledger' });
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

  /** Runs `work` on the current world. Runs due actions before and after it. */
  act<T>(work: (world: World) => T): T {
    this.#runDue();
    try {
      return work(this.#world);
    } finally {
      this.#runDue();
      this.#arm();
    }
  }

  /** Changes settings. @throws InvalidInput with the name of the setting; nothing is changed in that case */
  updateSettings(patch: unknown): Readonly<Settings> {
    const before = this.#settings;
    const after = mergeSettings(before, patch);
    // Run all due actions with the old settings first.
    this.act(() => undefined);
    this.#settings = after;
    if (before.sortBy !== after.sortBy) this.#world.messages.resort(this.#world.contacts.all());
    if (before.clock !== after.clock) this.#setClock(undefined);
    this.act(() => undefined);
    this.#notify({ of: 'world', contactId: null });
    return this.#settings;
  }

  /** Starts a new, empty world with its own seed and settings. Clears the ledger and the faults. */
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
    this.#notify({ of: 'world', contactId: null });
  }

  /** The settings that this run was started with. */
  get startSettings(): unknown {
    return this.options.settings ?? {};
  }

  /**
   * Restores the state of an earlier run. The settings in that state apply if both runs were started with the same
   * settings. Otherwise only the settings of this start apply.
   * @throws InvalidInput for invalid settings.
   */
  restore(saved: SavedState): void {
    const sameStart = JSON.stringify(saved.startSettings) === JSON.stringify(this.startSettings);
    this.#settings = mergeSettings(DEFAULT_SETTINGS, sameStart ? saved.settings : this.startSettings);
    this.#seed = saved.seed;
    this.#world = this.#newWorld(streamsFromState(saved.world.random));
    restoreWorld(this.#world, saved.world, saved.contacts);
    if (this.#world.clock.manual !== (this.#settings.clock === 'manual')) this.#setClock(undefined);
    this.ledger.restore(saved.ledger.entries, saved.ledger.next);
    this.#recordStart('restored');
    this.act(() => undefined);
    this.#notify({ of: 'world', contactId: null });
  }

  /**
   * Calls `listener` at each change. The listener must not change the world. Returns a function that removes
   * the listener.
   */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` at each reset, like `onChange`. */
  onReset(listener: () => void): () => void {
    this.#resets.add(listener);
    return () => this.#resets.delete(listener);
  }

  /** Stops the timer and all scheduled actions. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #notify(change: Change): void {
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
        this.#notify({ of: 'world', contactId });
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

  /** Runs all actions that are due at the clock's current time. */
  #runDue(): void {
    if (!this.#closed) this.#world.runDue();
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const due = this.#world.timetable.nextDue;
    if (this.#closed || due === null || this.#world.clock.manual) return;
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, due - Date.now()));
    this.#timer = setTimeout(() => {
      this.act(() => undefined);
    }, wait);
  }
}
