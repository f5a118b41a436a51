import { DamagedSnapshotError, PackedBytesReader, PackedBytesWriter } from '../packed-bytes.js';

/**
 * The part of the state of a contact's polls that later polls rebuild if it is lost. The rest is in
 * {@link PollState}. Stored in a Redis hash field of its own. Builds of Tidings that do not know this hash field
 * leave it unchanged.
 */
export interface RebuildablePollState {
  /** Packed data from which the contact's rate of new messages is estimated; see `schedule/rate.ts`. */
  rate?: Buffer;
  /** Packed list of the volatile fields of the contact's messages; see `volatile-message-fields.ts`. */
  volatile?: Buffer;
  /** Time of the last read of the newest messages, in milliseconds since 1970 by Redis' clock. */
  readAt?: number;
  /**
   * Reduced page limit for the contact's first page. Present while upstream fails to return this page with the
   * normal limit.
   */
  headLimit?: number;
  /** Until when {@link headLimit} replaces the normal page limit, in milliseconds since 1970 by Redis' clock. */
  headLimitUntil?: number;
  /**
   * True during a resync. Until all pages have been read, new messages without a timestamp then emit no events,
   * unless they belong to sends.
   */
  resyncing?: boolean;
  /** True if upstream returned more messages of the contact on a page than were requested. */
  ignoresLimit?: boolean;
  /**
   * True if the list of the contact's messages is sorted, but some messages are not where their timestamps put them.
   * A read that relies on the timestamps must then read all pages. Builds of Tidings that do not know this property
   * remove it; the next read that finds such messages sets it again.
   */
  hasMisplacedMessages?: boolean;
  /**
   * The first page of the contact at the last read of the newest messages. Present if that read requested only this
   * page, with the documented limit, and found no change. Older builds of Tidings that do not know this property may
   * remove it.
   */
  unchangedPage?: UnchangedPage;
}

/**
 * The first page of a contact at the last read of the newest messages. That read used the documented limit and
 * found no change. If upstream returns the same bytes again and the contact's state is still the same, the page
 * need not be compared with the snapshot.
 */
export interface UnchangedPage {
  /** Value of `ContactState.version` when the contact's first page was compared with the snapshot. */
  version: number;
  /** Hash of the HTTP response body that contained this page. */
  digest: string;
}

export const EMPTY_REBUILDABLE_POLL_STATE: RebuildablePollState = {};

const FORMAT = 1;
/**
 * Tags of the sections in the packed form. Sections with an unknown tag are skipped when they are unpacked.
 */
const RATE = 1;
const VOLATILE = 2;
const READ_AT = 3;
const HEAD_LIMIT = 4;
const RESYNCING = 5;
const UNCHANGED_PAGE = 6;
const IGNORES_LIMIT = 7;
const MISPLACED_MESSAGES = 8;

/**
 * Packs the state. An empty state becomes an empty buffer. Any other state becomes a format version (1 byte),
 * followed by sections. A section consists of a tag, a length and the content.
 */
export function packRebuildablePollState(state: RebuildablePollState): Buffer {
  const { rate, volatile, readAt, headLimit, headLimitUntil, resyncing, unchangedPage } = state;
  const packed = new PackedBytesWriter().byte(FORMAT);
  if (rate !== undefined) packed.byte(RATE).block(rate);
  if (volatile !== undefined) packed.byte(VOLATILE).block(volatile);
  if (readAt !== undefined)
    packed.byte(READ_AT).block(new PackedBytesWriter().number(Math.round(readAt)).done());
  if (headLimit !== undefined) {
    const until = Math.round(headLimitUntil ?? 0);
    packed.byte(HEAD_LIMIT).block(new PackedBytesWriter().number(headLimit).number(until).done());
  }
  if (resyncing === true) packed.byte(RESYNCING).block(Buffer.alloc(0));
  if (state.ignoresLimit === true) packed.byte(IGNORES_LIMIT).block(Buffer.alloc(0));
  if (state.hasMisplacedMessages === true) packed.byte(MISPLACED_MESSAGES).block(Buffer.alloc(0));
  if (unchangedPage !== undefined) {
    const { version, digest } = unchangedPage;
    const ofVersion = new PackedBytesWriter().number(version).done();
    packed.byte(UNCHANGED_PAGE).block(Buffer.concat([ofVersion, Buffer.from(digest, 'base64')]));
  }
  const bytes = packed.done();
  return bytes.length === 1 ? Buffer.alloc(0) : bytes;
}

/** Unpacks the state. Returns an empty state if the bytes are damaged or have another format version. */
export function unpackRebuildablePollState(bytes: Buffer): RebuildablePollState {
  if (bytes.length === 0) return EMPTY_REBUILDABLE_POLL_STATE;
  try {
    return read(new PackedBytesReader(bytes), bytes.length);
  } catch (error) {
    if (error instanceof DamagedSnapshotError) return EMPTY_REBUILDABLE_POLL_STATE;
    throw error;
  }
}

function read(packed: PackedBytesReader, length: number): RebuildablePollState {
  const state: RebuildablePollState = {};
  if (packed.byte() !== FORMAT) return state;
  for (let left = length - 1; left > 0;) {
    const tag = packed.byte();
    const block = packed.block();
    left -= 1 + sizeOfNumber(block.length) + block.length;
    const content = new PackedBytesReader(block);
    if (tag === RATE) state.rate = Buffer.from(block);
    else if (tag === VOLATILE) state.volatile = Buffer.from(block);
    else if (tag === READ_AT) state.readAt = content.number();
    else if (tag === HEAD_LIMIT) {
      state.headLimit = Math.max(content.number(), 1);
      state.headLimitUntil = content.number();
    } else if (tag === RESYNCING) state.resyncing = true;
    else if (tag === IGNORES_LIMIT) state.ignoresLimit = true;
    else if (tag === MISPLACED_MESSAGES) state.hasMisplacedMessages = true;
    else if (tag === UNCHANGED_PAGE) {
      const version = content.number();
      const digest = block.subarray(sizeOfNumber(version)).toString('base64');
      state.unchangedPage = { version, digest };
    }
  }
  return state;
}

function sizeOfNumber(value: number): number {
  return new PackedBytesWriter().number(value).done().length;
}
