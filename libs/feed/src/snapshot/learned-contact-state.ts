import { DamagedSnapshotError, PackedReader, PackedWriter } from '../packed-bytes.js';

/**
 * Derived state of a contact beside {@link PollMemory}. Each part can be lost without harm and is then learned again.
 * Stored in a separate hash field, which older builds leave untouched.
 */
export interface LearnedContactState {
  /** Packed estimate of the contact's rate of change; see `schedule/rate.ts`. */
  rate?: Buffer;
  /** Packed state of the volatile fields of the contact's messages; see `volatility.ts`. */
  volatile?: Buffer;
  /** Time of the last read of the newest messages, in milliseconds since 1970 by Redis' clock. */
  readAt?: number;
  /** Limit of the first page while a full page cannot be read. */
  headLimit?: number;
  /** Time of the next attempt with a full page, in milliseconds since 1970 by Redis' clock. */
  headLimitUntil?: number;
  /** True while a new baseline replaces a lost one: then messages without a timestamp are not emitted. */
  resyncing?: boolean;
}

export const EMPTY_LEARNED_STATE: LearnedContactState = {};

const FORMAT = 1;
/** Tags of the sections. A reader skips unknown tags. */
const RATE = 1;
const VOLATILE = 2;
const READ_AT = 3;
const HEAD_LIMIT = 4;
const RESYNCING = 5;

/** Packs an extension: format, then sections of tag, length and content. An empty extension gives no bytes. */
export function packLearnedContactState(extension: LearnedContactState): Buffer {
  const { rate, volatile, readAt, headLimit, headLimitUntil, resyncing } = extension;
  const packed = new PackedWriter().byte(FORMAT);
  if (rate !== undefined) packed.byte(RATE).block(rate);
  if (volatile !== undefined) packed.byte(VOLATILE).block(volatile);
  if (readAt !== undefined) packed.byte(READ_AT).block(new PackedWriter().number(Math.round(readAt)).done());
  if (headLimit !== undefined) {
    const until = Math.round(headLimitUntil ?? 0);
    packed.byte(HEAD_LIMIT).block(new PackedWriter().number(headLimit).number(until).done());
  }
  if (resyncing === true) packed.byte(RESYNCING).block(Buffer.alloc(0));
  const bytes = packed.done();
  return bytes.length === 1 ? Buffer.alloc(0) : bytes;
}

/** Unpacks an extension. Damaged bytes count as an empty extension. */
export function unpackLearnedContactState(bytes: Buffer): LearnedContactState {
  if (bytes.length === 0) return EMPTY_LEARNED_STATE;
  try {
    return read(new PackedReader(bytes), bytes.length);
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return EMPTY_LEARNED_STATE;
    throw error;
  }
}

function read(packed: PackedReader, length: number): LearnedContactState {
  const extension: LearnedContactState = {};
  if (packed.byte() !== FORMAT) return extension;
  for (let left = length - 1; left > 0;) {
    const tag = packed.byte();
    const block = packed.block();
    left -= 1 + sizeOfNumber(block.length) + block.length;
    const content = new PackedReader(block);
    if (tag === RATE) extension.rate = Buffer.from(block);
    else if (tag === VOLATILE) extension.volatile = Buffer.from(block);
    else if (tag === READ_AT) extension.readAt = content.number();
    else if (tag === HEAD_LIMIT) {
      extension.headLimit = Math.max(content.number(), 1);
      extension.headLimitUntil = content.number();
    } else if (tag === RESYNCING) extension.resyncing = true;
  }
  return extension;
}

function sizeOfNumber(value: number): number {
  return new PackedWriter().number(value).done().length;
}
