import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InvalidInput } from '../input-errors.js';
import type { Change, SimulatorCore } from '../simulator-core.js';
import { CorruptState } from './corrupt-state.js';
import { appendLines, readIfThere, replaceFile } from './durable-files.js';
import { readLedger, readState, writeState } from './state-format.js';
import { messageOf } from '../error-properties.js';

/** Delay from a change to its save, in milliseconds, if saves are fast. */
const DELAY_MS = 50;
/**
 * Pause after a save as a multiple of its duration. Saving a large world thus takes at most a fifth of the
 * time.
 */
const REST_FACTOR = 4;
const RETRY_MS = 1_000;
/** Minimum number of entries in the ledger file. The file keeps at most twice as many. */
const MIN_LEDGER_ENTRIES = 100_000;

/**
 * Saves the state of a core in a file, so that a restart does not look like a mass deletion. The world is
 * written completely and atomically. The ledger is appended to a second file (`<file>.ledger`), one entry per
 * line.
 */
export class StateKeeper {
  readonly #ledgerPath: string;
  #worldChanged = false;
  #ledgerChanged = false;
  #timer: NodeJS.Timeout | null = null;
  #saving: Promise<void> | null = null;
  #lastSaveMs = 0;
  #closed = false;
  /** Content of the ledger file: its epoch and the next index. Null if the file must be rewritten. */
  #kept: { epoch: number; next: number; lines: number } | null = null;

  /** @param report receives one line per failed save; a failed save is retried */
  constructor(
    private readonly core: SimulatorCore,
    private readonly path: string,
    private readonly report: (line: string) => void,
  ) {
    this.#ledgerPath = `${path}.ledger`;
  }

  /**
   * Loads the saved state. Returns false if there is no state file.
   * @throws CorruptState
   */
  async load(): Promise<boolean> {
    const state = await readIfThere(this.path);
    if (state !== null) await this.#restore(state);
    return state !== null;
  }

  /**
   * Starts saving changes. Called after the port is bound: until then the file may belong to a running
   * simulator.
   */
  async watch(): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true });
    this.core.onChange((change) => {
      this.#note(change);
    });
    this.#note({ of: 'world', contactId: null });
  }

  /** Saves unsaved changes and stops. @throws if this last save fails */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#saving;
    await this.#save();
  }

  async #restore(state: Buffer): Promise<void> {
    const text = await readIfThere(this.#ledgerPath);
    const ledger =
      text === null ? { entries: [], lines: 0, torn: false } : readLedger(this.#ledgerPath, text);
    const saved = readState(this.path, state, ledger.entries);
    try {
      this.core.restore(saved);
    } catch (error) {
      if (error instanceof InvalidInput) throw new CorruptState(this.path, `the setting ${error.message}`);
      throw error;
    }
  }

  #note(change: Change): void {
    if (change.of === 'world') this.#worldChanged = true;
    this.#ledgerChanged = true;
    this.#schedule(Math.max(DELAY_MS, REST_FACTOR * this.#lastSaveMs));
  }

  #schedule(wait: number): void {
    if (this.#closed || this.#timer !== null || this.#saving !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#saving = this.#saveOrReport();
    }, wait);
  }

  async #saveOrReport(): Promise<void> {
    let wait = 0;
    try {
      const start = performance.now();
      await this.#save();
      this.#lastSaveMs = performance.now() - start;
      wait = Math.max(DELAY_MS, REST_FACTOR * this.#lastSaveMs);
    } catch (error) {
      this.report(`cannot save ${this.path}: ${messageOf(error)}`);
      wait = RETRY_MS;
    } finally {
      this.#saving = null;
    }
    if (this.#worldChanged || this.#ledgerChanged) this.#schedule(wait);
  }

  async #save(): Promise<void> {
    const world = this.#worldChanged;
    const ledger = this.#ledgerChanged;
    // Changes during the save set these flags again.
    this.#worldChanged = false;
    this.#ledgerChanged = false;
    const lines = world ? writeState(this.core) : null;
    try {
      // Save the ledger first. After a crash the ledger may then be newer than the world, but never older.
      if (ledger) await this.#saveLedger();
      if (lines !== null) await replaceFile(this.path, lines);
    } catch (error) {
      this.#worldChanged ||= world;
      this.#ledgerChanged ||= ledger;
      this.#kept = null;
      throw error;
    }
  }

  async #saveLedger(): Promise<void> {
    const { ledger } = this.core;
    const { epoch, next } = ledger;
    const kept = this.#kept;
    if (kept?.epoch === epoch && kept.lines < 2 * MIN_LEDGER_ENTRIES) {
      const fresh = ledger.read({ since: kept.next }).entries.map((entry) => JSON.stringify(entry));
      await appendLines(this.#ledgerPath, fresh);
      this.#kept = { epoch, next, lines: kept.lines + fresh.length };
      return;
    }
    const last = ledger
      .read({ since: next - MIN_LEDGER_ENTRIES })
      .entries.map((entry) => JSON.stringify(entry));
    await replaceFile(this.#ledgerPath, last);
    this.#kept = { epoch, next, lines: last.length };
  }
}
