import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InvalidInput } from '../refusals.js';
import type { Change, SimulatorCore } from '../simulator-core.js';
import { CorruptState } from './corrupt-state.js';
import { appendLines, readIfThere, replaceFile } from './durable-files.js';
import { readLedger, readState, writeState } from './state-format.js';
import { wordsOf } from '../error-words.js';

/** From a change to its save, while saves are quick. */
const DELAY_MS = 50;
/** A large world takes long to write: at most a fifth of the time goes into saving. */
const REST_FACTOR = 4;
const RETRY_MS = 1_000;
/** The file of the ledger keeps at least so many entries, and at most twice as many. */
const LEDGER_KEPT = 100_000;

/**
 * Keeps a core's state in a file, so that a restart is not a mass deletion. The world is written whole and
 * atomically; the ledger stands beside it (`<file>.ledger`) and is appended to, one entry a line.
 */
export class StateKeeper {
  readonly #ledgerPath: string;
  #worldChanged = false;
  #ledgerChanged = false;
  #timer: NodeJS.Timeout | null = null;
  #saving: Promise<void> | null = null;
  #lastSaveMs = 0;
  #closed = false;
  /** What the ledger's file holds: up to which index, of which epoch; null: it must be written anew. */
  #kept: { epoch: number; next: number; lines: number } | null = null;

  /** @param report takes one line about a save that failed; it is tried again. */
  constructor(
    private readonly core: SimulatorCore,
    private readonly path: string,
    private readonly report: (line: string) => void,
  ) {
    this.#ledgerPath = `${path}.ledger`;
  }

  /**
   * Loads what is there. False: there was no file.
   * @throws CorruptState
   */
  async load(): Promise<boolean> {
    const state = await readIfThere(this.path);
    if (state !== null) await this.#restore(state);
    return state !== null;
  }

  /** Saves from now on. Not before: the file may belong to a simulator that already runs on this port. */
  async watch(): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true });
    this.core.onChange((change) => {
      this.#note(change);
    });
    this.#note({ of: 'world', contactId: null });
  }

  /** Saves what is not saved yet, if it was watching, and stops. @throws when that last save fails. */
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
      if (error instanceof InvalidInput) throw new CorruptState(this.path, `its setting ${error.message}`);
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
      this.report(`cannot save ${this.path}: ${wordsOf(error)}`);
      wait = RETRY_MS;
    } finally {
      this.#saving = null;
    }
    if (this.#worldChanged || this.#ledgerChanged) this.#schedule(wait);
  }

  async #save(): Promise<void> {
    const world = this.#worldChanged;
    const ledger = this.#ledgerChanged;
    // What changes while this is being written sets them again.
    this.#worldChanged = false;
    this.#ledgerChanged = false;
    const lines = world ? writeState(this.core) : null;
    try {
      // The ledger first: an entry may speak of what the world's file lacks after a crash, never the other way round.
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
    if (kept?.epoch === epoch && kept.lines < 2 * LEDGER_KEPT) {
      const fresh = ledger.read({ since: kept.next }).entries.map((entry) => JSON.stringify(entry));
      await appendLines(this.#ledgerPath, fresh);
      this.#kept = { epoch, next, lines: kept.lines + fresh.length };
      return;
    }
    const last = ledger.read({ since: next - LEDGER_KEPT }).entries.map((entry) => JSON.stringify(entry));
    await replaceFile(this.#ledgerPath, last);
    this.#kept = { epoch, next, lines: last.length };
  }
}
