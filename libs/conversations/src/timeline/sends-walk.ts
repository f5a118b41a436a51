import { comparePositions, newerPosition, type Position } from '../position.js';
import type { TimelineSend, TimelineSends } from './ports.js';

const PAGE_SIZE = 100;
/** Maximum number of pages of sends that one call of {@link readSendsOfConversation} reads per phone number. */
const MAX_PAGES = 10;
/**
 * Maximum number of pending sends that one call of {@link readSendsOfConversation} reads per phone number and status.
 */
const MAX_PENDING = 1_000;
/**
 * Maximum time between the creation of a send and the assignment of its serial number, in milliseconds. Of two
 * sends that were created within this time, the later one may have the lower serial number.
 */
const NUMBERING_MS = 5_000;

/** Selects the sends that {@link readSendsOfConversation} reads. */
export interface SendsWanted {
  phoneNumbers: readonly string[];
  /** Sends older than this position are wanted. Undefined for the newest sends. */
  from: Position | undefined;
  /**
   * Time of the oldest wanted sends, in milliseconds since 1970: all sends from this time to {@link from} are wanted.
   * `-Infinity` if {@link count} says how many sends are wanted.
   */
  until: number;
  /** Number of sends to find if {@link until} is `-Infinity`. */
  count: number;
  /** Only sends with a lower serial number than this one are read. Undefined for all sends. */
  before: number | undefined;
  /** When the caller requested the first page of the timeline, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
}

/** Result of {@link readSendsOfConversation}. */
export interface SendsFound<S> {
  /** The found sends by id. Some of them may be outside of the wanted range. */
  sends: Map<string, TimelineSend<S>>;
  /**
   * Every send that {@link SendsWanted} selects and that is newer than this position was found. Undefined if no older
   * sends exist.
   */
  edge: Position | undefined;
  /**
   * Returns a serial number that is higher than those of all sends older than the position. Undefined if no such
   * number is known.
   */
  serialNumberAbove(position: Position): number | undefined;
}

/**
 * Reads the sends to a conversation's phone numbers, the newest first. If `from` is absent or later than `startedAt`,
 * also reads the pending sends, because a scheduled send is shown at its `sendAt`.
 */
export async function readSendsOfConversation<S>(
  port: TimelineSends<S>,
  account: string,
  wanted: SendsWanted,
): Promise<SendsFound<S>> {
  const { phoneNumbers, from, startedAt } = wanted;
  const walks = await Promise.all(phoneNumbers.map((number) => readRecipient(port, account, number, wanted)));
  const hasPending = from === undefined || from.at > startedAt;
  const pending = hasPending
    ? await Promise.all(phoneNumbers.map((number) => port.pendingTo(account, number, MAX_PENDING)))
    : [];
  const sends = new Map<string, TimelineSend<S>>();
  for (const send of [...walks.flatMap((walk) => walk.sends), ...pending.flat()]) sends.set(send.id, send);
  return {
    sends,
    edge: walks.reduce<Position | undefined>((edge, walk) => newerPosition(edge, walk.edge), undefined),
    serialNumberAbove: (position) => {
      const passed = walks.map((walk) => numberPassed(walk, position, wanted.before));
      return passed.includes(undefined) ? undefined : Math.max(0, ...(passed as number[]));
    },
  };
}

interface RecipientWalk<S> {
  sends: TimelineSend<S>[];
  /**
   * An entry for each page that was read. `oldest` is the creation time of the oldest send on this page and the pages
   * read before it. The next page contains sends with serial numbers below `next`.
   */
  pages: { oldest: number; next: number }[];
  edge: Position | undefined;
}

async function readRecipient<S>(
  port: TimelineSends<S>,
  account: string,
  phoneNumber: string,
  { from, until, count, before }: SendsWanted,
): Promise<RecipientWalk<S>> {
  const walk: RecipientWalk<S> = { sends: [], pages: [], edge: undefined };
  let next = before;
  let oldest = Infinity;
  while (walk.pages.length < MAX_PAGES) {
    const page = await port.sendsTo(account, phoneNumber, PAGE_SIZE, next);
    walk.sends.push(...page.sends);
    oldest = page.sends.reduce((time, { createdAt }) => Math.min(time, createdAt), oldest);
    walk.pages.push({ oldest, next: page.next ?? 0 });
    if (page.next === undefined) return walk;
    next = page.next;
    if (oldest < until - NUMBERING_MS) break;
    if (until === -Infinity && countOlder(walk.sends, from, oldest + NUMBERING_MS) >= count) break;
  }
  walk.edge = { at: oldest + NUMBERING_MS };
  // The next page of the timeline must begin at an older position than `from`. Otherwise the timeline would never
  // end.
  if (from !== undefined && comparePositions(walk.edge, from) >= 0) walk.edge = { at: oldest };
  return walk;
}

function countOlder<S>(
  sends: readonly TimelineSend<S>[],
  from: Position | undefined,
  newerThan: number,
): number {
  return sends.filter(
    ({ id, createdAt }) =>
      createdAt > newerThan && (from === undefined || comparePositions({ at: createdAt, id }, from) < 0),
  ).length;
}

function numberPassed(
  { pages }: Pick<RecipientWalk<unknown>, 'pages'>,
  position: Position,
  before: number | undefined,
): number | undefined {
  return pages.reduce<number | undefined>(
    (number, { oldest, next }) => (oldest > position.at + NUMBERING_MS ? next : number),
    before,
  );
}
