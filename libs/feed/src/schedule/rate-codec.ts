import { DamagedSnapshotError, PackedBytesReader, PackedBytesWriter } from '../packed-bytes.js';
import type { MessageRateState } from './rate.js';

const VERSION = 1;
/** Unit in which times are packed, in milliseconds. */
const TICK_MS = 100;
const MAX_TIME = Date.UTC(2200, 0, 1);
/**
 * Smallest amount above 0 that can be packed. Amounts, such as numbers of messages, are packed as logarithms.
 */
const MIN_AMOUNT = 1e-6;
/**
 * Amounts are packed as whole numbers on a logarithmic scale: if the packed number is greater by `STEPS_AN_E`, the
 * amount is e times as large. The largest amount is about 10^8.
 */
const STEPS_AN_E = 2000;
const MAX_CODE = 0xffff;

/** Packs the data from which a contact's message rate is estimated, into about 16 bytes. */
export function packMessageRate(state: MessageRateState): Buffer {
  const { at, starts, follows, watchedMs, gaps, gapsMs } = state;
  const writer = new PackedBytesWriter().byte(VERSION);
  writer.number(ticks(at));
  for (const amount of [starts, follows, watchedMs / 1000, gaps, gapsMs / 1000])
    writer.bits16(codeOf(amount));
  return writer.done();
}

/**
 * Unpacks the bytes that {@link packMessageRate} returned. Returns undefined, which stands for an unknown rate, if
 * the bytes are damaged or have another version.
 */
export function unpackMessageRate(bytes: Buffer): MessageRateState | undefined {
  try {
    return read(new PackedBytesReader(bytes));
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return undefined;
    throw error;
  }
}

function read(reader: PackedBytesReader): MessageRateState | undefined {
  if (reader.byte() !== VERSION) return undefined;
  const state: MessageRateState = {
    at: timeOf(reader),
    starts: amountOf(reader.bits16()),
    follows: amountOf(reader.bits16()),
    watchedMs: amountOf(reader.bits16()) * 1000,
    gaps: amountOf(reader.bits16()),
    gapsMs: amountOf(reader.bits16()) * 1000,
  };
  reader.end();
  return state;
}

/**
 * Reads a time, in milliseconds since 1970.
 * @throws {DamagedSnapshotError} if the time is after {@link MAX_TIME}
 */
function timeOf(reader: PackedBytesReader): number {
  const time = reader.number() * TICK_MS;
  if (time > MAX_TIME) throw new DamagedSnapshotError();
  return time;
}

function ticks(ms: number): number {
  return Math.max(Math.round(ms / TICK_MS), 0);
}

function codeOf(amount: number): number {
  if (!(amount > MIN_AMOUNT)) return 0;
  return Math.min(Math.round(Math.log(amount / MIN_AMOUNT) * STEPS_AN_E) + 1, MAX_CODE);
}

function amountOf(code: number): number {
  return code === 0 ? 0 : MIN_AMOUNT * Math.exp((code - 1) / STEPS_AN_E);
}
