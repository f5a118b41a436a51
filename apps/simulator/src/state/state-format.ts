import { isObject } from '../json.js';
import type { LedgerEntry } from '../ledger-entries.js';
import type { SavedState, SimulatorCore } from '../simulator-core.js';
import type { ContactRecord, WorldHeader } from '../world/snapshot.js';
import { headerOf, recordsOf } from '../world/snapshot.js';
import { CorruptState } from './corrupt-state.js';
import { linesOf } from './durable-files.js';
import { messageOf } from '../error-properties.js';

const FORMAT = 'simulator-state';
const VERSION = 1;

/** The first line of the state file. */
interface Header {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  readonly seed: number;
  readonly settings: unknown;
  readonly startSettings: unknown;
  readonly ledgerNext: number;
  readonly world: WorldHeader;
}

/**
 * Returns the lines of the state file, one JSON text each: a header, one line per contact with its messages,
 * and an end marker.
 */
export function writeState(core: SimulatorCore): string[] {
  const header: Header = {
    format: FORMAT,
    version: VERSION,
    seed: core.seed,
    settings: core.settings,
    startSettings: core.startSettings,
    ledgerNext: core.ledger.next,
    world: headerOf(core.world),
  };
  const contacts = recordsOf(core.world);
  return [
    JSON.stringify(header),
    ...contacts.map((contact) => JSON.stringify(contact)),
    JSON.stringify({ end: contacts.length }),
  ];
}

/**
 * Parses the state file.
 * @throws CorruptState with the problem
 */
export function readState(path: string, text: Buffer, ledger: readonly LedgerEntry[]): SavedState {
  const { lines, torn } = linesOf(text);
  if (torn !== '') throw new CorruptState(path, 'the end is missing');
  const parsed = lines.map((line, index) => parse(path, line, index));
  const header = parsed.shift();
  const end = parsed.pop();
  if (!isHeader(header)) throw new CorruptState(path, `line 1 is not a header of version ${VERSION}`);
  if (!isObject(end) || end['end'] !== parsed.length)
    throw new CorruptState(path, 'the last line is missing');
  const contacts = parsed.map((record, index) => {
    if (!isContactRecord(record)) throw new CorruptState(path, `line ${index + 2} is not a contact`);
    return record;
  });
  const { seed, settings, startSettings, world, ledgerNext } = header;
  return { seed, settings, startSettings, world, contacts, ledger: { entries: ledger, next: ledgerNext } };
}

/**
 * Parses the ledger file. Ignores an incomplete last line after a crash, and all entries before a gap in the
 * indexes.
 */
export function readLedger(
  path: string,
  text: Buffer,
): { entries: LedgerEntry[]; lines: number; torn: boolean } {
  const { lines, torn } = linesOf(text);
  let entries: LedgerEntry[] = [];
  for (const [number, line] of lines.entries()) {
    const entry = parse(path, line, number);
    if (!isLedgerEntry(entry)) throw new CorruptState(path, `line ${number + 1} is not a ledger entry`);
    const last = entries.at(-1);
    if (last !== undefined && entry.index !== last.index + 1) entries = [];
    entries.push(entry);
  }
  return { entries, lines: lines.length, torn: torn !== '' };
}

function parse(path: string, line: string, index: number): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    const words = messageOf(error);
    throw new CorruptState(path, `line ${index + 1} is not valid JSON (${words.slice(0, 100)})`);
  }
}

function isHeader(value: unknown): value is Header {
  if (!isObject(value) || value['format'] !== FORMAT || value['version'] !== VERSION) return false;
  const { seed, settings, ledgerNext, world } = value;
  if (typeof seed !== 'number' || typeof ledgerNext !== 'number' || !isObject(settings)) return false;
  if (!isObject(world) || !areNumbers(world['random'], ['ids', 'decisions', 'shuffles', 'faults']))
    return false;
  if (!areNumbers(world['counters'], ['serial', 'arrival', 'sendNumber', 'generation'])) return false;
  const { clock, timetable } = world;
  if (clock !== null && typeof clock !== 'number') return false;
  return Array.isArray(timetable) && timetable.every(isScheduled);
}

function isScheduled(value: unknown): boolean {
  return areNumbers(value, ['due', 'order']) && isObject(value) && isObject(value['happening']);
}

function isContactRecord(value: unknown): value is ContactRecord {
  if (!areNumbers(value, ['serial', 'revision', 'reads']) || !isObject(value)) return false;
  if (!areStrings(value, ['id', 'phoneNumber', 'name', 'state']) || !isObject(value['fields'])) return false;
  return Array.isArray(value['messages']) && value['messages'].every(isMessageRecord);
}

function isMessageRecord(value: unknown): boolean {
  return (
    isObject(value) &&
    areNumbers(value, ['serial', 'timestamp', 'revision', 'arrival']) &&
    areStrings(value, ['id', 'direction', 'origin', 'from', 'to', 'text', 'service', 'state']) &&
    typeof value['delivered'] === 'boolean' &&
    typeof value['read'] === 'boolean' &&
    Array.isArray(value['attachments']) &&
    isObject(value['fields'])
  );
}

function isLedgerEntry(value: unknown): value is LedgerEntry {
  return isObject(value) && areNumbers(value, ['index', 'time']) && areStrings(value, ['kind']);
}

function areNumbers(value: unknown, fields: readonly string[]): boolean {
  return isObject(value) && fields.every((field) => typeof value[field] === 'number');
}

function areStrings(value: Record<string, unknown>, fields: readonly string[]): boolean {
  return fields.every((field) => typeof value[field] === 'string');
}
