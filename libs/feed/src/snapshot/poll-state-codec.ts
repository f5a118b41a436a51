import { packId, unpackId } from './id-codec.js';
import { PAGE_ORDERS, type PageOrder } from '../walk/page-order.js';
import { DamagedSnapshotError, PackedBytesReader, PackedBytesWriter } from '../packed-bytes.js';
import type { PollState } from './poll-state.js';

/** Version of the packed form. Bytes with another version count as damaged. */
const FORMAT = 1;

/**
 * Names of the optional integers of {@link PollState}. The packed form refers to each integer by its index
 * in this list, so new names must be added at the end.
 */
const OPTIONAL_NUMBERS = [
  'completeAt',
  'completeDueAt',
  'flagCheckDueAt',
  'suspectSince',
  'limit',
  'skipped',
  'revisionFloor',
] as const;
const HAS_ACTIVITY = 1;
const HAS_EPOCH = 2;
const HAS_UNREADABLE = 4;
const FIRST_OPTIONAL = 8;

/**
 * Packs the state of a contact's reads, in this order: the format version, the page order, bits that say which
 * optional values are present, and the values. Integers have a variable length. Each of `head`, `epoch`
 * and `unreadable` is stored as its length and its bytes.
 */
export function packPollState(pollState: PollState): Buffer {
  const { epoch, unreadable } = pollState;
  // An `activity` with weight 0 means the same as an absent one, so it is not stored.
  const activity = pollState.activity?.weight === 0 ? undefined : pollState.activity;
  const given = OPTIONAL_NUMBERS.map((name, i) => ({ bit: FIRST_OPTIONAL << i, value: pollState[name] }));
  const packed = new PackedBytesWriter()
    .byte(FORMAT)
    .byte(PAGE_ORDERS.indexOf(pollState.order))
    .number(
      (activity === undefined ? 0 : HAS_ACTIVITY) |
        (epoch === undefined ? 0 : HAS_EPOCH) |
        (unreadable === undefined ? 0 : HAS_UNREADABLE) |
        given.reduce((bits, { bit, value }) => bits | (value === undefined ? 0 : bit), 0),
    )
    .number(pollState.pageSize)
    .number(pollState.length)
    .number(pollState.count)
    .block(Buffer.from(pollState.head, 'base64'));
  if (activity !== undefined) packed.float(activity.weight).number(Math.round(activity.at));
  if (epoch !== undefined) packed.block(packId(epoch));
  if (unreadable !== undefined) packed.block(Buffer.from(unreadable, 'base64'));
  for (const { value } of given) if (value !== undefined) packed.number(Math.round(value));
  return packed.done();
}

/**
 * Restores the state that {@link packPollState} packed.
 * @throws {DamagedSnapshotError} if the bytes are damaged or were packed by another version
 */
export function unpackPollState(bytes: Buffer): PollState {
  const packed = new PackedBytesReader(bytes);
  if (packed.byte() !== FORMAT) throw new DamagedSnapshotError();
  const order: PageOrder | undefined = PAGE_ORDERS[packed.byte()];
  const follows = packed.number();
  if (order === undefined || follows >= FIRST_OPTIONAL << OPTIONAL_NUMBERS.length)
    throw new DamagedSnapshotError();
  const pollState: PollState = {
    order,
    pageSize: packed.number(),
    length: packed.number(),
    count: packed.number(),
    head: packed.block().toString('base64'),
  };
  if ((follows & HAS_ACTIVITY) !== 0) pollState.activity = { weight: packed.float(), at: packed.number() };
  if ((follows & HAS_EPOCH) !== 0) pollState.epoch = unpackId(packed.block());
  if ((follows & HAS_UNREADABLE) !== 0) pollState.unreadable = packed.block().toString('base64');
  OPTIONAL_NUMBERS.forEach((name, i) => {
    if ((follows & (FIRST_OPTIONAL << i)) !== 0) pollState[name] = packed.number();
  });
  packed.end();
  return pollState;
}
