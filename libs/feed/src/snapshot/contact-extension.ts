import { DamagedSnapshotError, PackedReader, PackedWriter } from '../packed-bytes.js';

/**
 * What is kept of a contact beside {@link PollMemory}: each part may be lost without harm, and is then learned anew.
 * It is stored in a field of its own, which builds that do not know it leave alone.
 */
export interface ContactExtension {
  /** The estimate of its rate of change; see `schedule/rate.ts`. */
  rate?: Buffer;
  /** Which fields of its messages differ at each read; see `volatility.ts`. */
  volatile?: Buffer;
  /** When its head was last read, in milliseconds since 1970 by Redis' clock. */
  readAt?: number;
  /** The head can only be read in pages of this size: a larger one fails. */
  headLimit?: number;
  /** When a larger one is to be tried again, in milliseconds since 1970 by Redis' clock. */
  headLimitUntil?: number;
  /** The baseline that is being taken replaces a lost one: none of its messages without a timestamp is emitted. */
  resyncing?: boolean;
}

export const EMPTY_EXTENSION: ContactExtension = {};

const FORMAT = 1;
/** Tags of the sections. A reader skips those that it does not know. */
const RATE = 1;
const VOLATILE = 2;
const READ_AT = 3;
const HEAD_LIMIT = 4;
const RESYNCING = 5;

/** Format, then sections of tag, length and content. Empty if there is nothing to keep. */
export function packExtension(extension: ContactExtension): Buffer {
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

/** What cannot be read counts as not learned yet. */
export function unpackExtension(bytes: Buffer): ContactExtension {
  if (bytes.length === 0) return EMPTY_EXTENSION;
  try {
    return read(new PackedReader(bytes), bytes.length);
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return EMPTY_EXTENSION;
    throw error;
  }
}

function read(packed: PackedReader, length: number): ContactExtension {
  const extension: ContactExtension = {};
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
