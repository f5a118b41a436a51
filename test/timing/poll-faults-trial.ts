import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Fleet, type UpstreamRequest } from '../support/fleet.js';
import { unevenTraffic } from '../support/traffic.js';

const CONTACTS = 100;
export const REQUESTS_PER_SECOND = 20;
/** Number of old messages per contact. All fit on one page. */
const OLD_MESSAGES = 5;
const MEASURED_MS = 45_000;
const WRITTEN_PER_SECOND = 2;
const FIRST_READ_WITHIN_MS = 60_000;
/** Time after which an unreported message counts as missing, in milliseconds. */
const REPORTED_WITHIN_MS = 30_000;
const KILL_EVERY_MS = 5_000;
/** Time after which a contact that a killed worker was reading counts as not taken over, in milliseconds. */
const TAKEN_UP_WITHIN_MS = 15_000;
/** Request budget during the first reads. After them, every request for messages is a poll. */
const FIRST_READS_PER_SECOND = 400;

/** Maximum interval of the polls of a contact, in milliseconds. These polls need half of the budget. */
export const POLL_MAX_INTERVAL_MS = 10_000;

/** Conditions of a trial. */
export interface FaultPlan {
  /** Environment variables of each worker. */
  workers: readonly Readonly<Record<string, string>>[];
  /** Fault rules of the simulator, applied after every contact was read once. */
  faults?: readonly object[];
  /** True if the workers are killed and restarted in turn every five seconds. */
  kills?: boolean;
  seed: number;
}

/** The measurements of a trial. */
export interface FaultOutcome {
  /**
   * Longest time between two successful reads of one contact, in milliseconds. Start and end of the trial
   * count as reads.
   */
  readonly longestGapMs: number;
  /** Overlapping requests for one contact's messages. */
  readonly overlaps: readonly string[];
  /**
   * For each kill: the number of contacts that the worker was reading, and the time until the last of them
   * was requested again.
   */
  readonly takenUp: readonly { contacts: number; afterMs: number }[];
  readonly written: number;
  readonly missing: number;
  readonly reportedTwice: number;
  readonly longestDelayMs: number;
  /**
   * The requests for the messages of the contact whose message was reported last, each with its time relative to that
   * message, in milliseconds.
   */
  readonly slowest: readonly string[];
  readonly kills: number;
  readonly requests: number;
}

interface LoggedRequest extends UpstreamRequest {
  readonly aborted: boolean;
}

/** An entry of the simulator's ledger about a new message. */
interface CreatedMessage {
  readonly time: number;
  readonly contactId: string;
  readonly messageId: string;
  readonly message: string;
}

/** Polls a hundred contacts under faults and evaluates upstream's request log. */
export async function runPollFaultTrial(plan: FaultPlan): Promise<FaultOutcome> {
  await using fleet = await Fleet.open({
    environment: {
      UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
      POLL_MAX_INTERVAL_MS: String(POLL_MAX_INTERVAL_MS),
    },
  });
  const contacts = await fleet.createContacts(CONTACTS, OLD_MESSAGES);
  await fleet.startGateway();
  const reader = await fleet.startWorker({ UPSTREAM_REQUESTS_PER_SECOND: String(FIRST_READS_PER_SECOND) });
  await eventually('every contact was read', () => allRead(fleet, contacts), FIRST_READ_WITHIN_MS);
  await fleet.kill(reader);
  await Promise.all(plan.workers.map((extra) => fleet.startWorker(extra)));
  for (const rule of plan.faults ?? []) await fleet.simulate('faults', rule);

  const began = Date.now();
  const stop = new AbortController();
  const killing = plan.kills === true ? killInTurn(fleet, plan.workers, stop.signal) : Promise.resolve([]);
  const traffic = unevenTraffic({
    ...{ contacts: CONTACTS, activeContacts: 10, activeShare: 0.5, perSecond: WRITTEN_PER_SECOND },
    ...{ durationMs: MEASURED_MS, seed: plan.seed },
  });
  for (const [n, { at, contact }] of traffic.entries()) {
    await pause(Math.max(0, began + at - Date.now()));
    await fleet.simulate('messages', { contactId: contacts[contact], text: `New ${n}` });
  }
  stop.abort();
  const kills = await killing;
  const until = Date.now();
  const { slowestMessage, ...emitted } = await reportsOf(fleet, traffic.length);
  const polls = await pollsAfterTakeovers(fleet, contacts, kills);
  return {
    longestGapMs: longestGap(polls, began, until),
    overlaps: overlapsIn(polls),
    takenUp: kills.map((at) => takenUpAfter(polls, at)),
    kills: kills.length,
    requests: [...polls.values()].flat().filter(({ arrivedAt }) => arrivedAt >= began && arrivedAt < until)
      .length,
    ...emitted,
    slowest: (polls.get(slowestMessage?.contactId ?? '') ?? []).map(
      ({ arrivedAt, status, aborted, durationMs, path }) =>
        `${Math.round(arrivedAt - (slowestMessage?.time ?? 0))}: ${path.replace(/.*\?/, '')}, ` +
        `${aborted ? 'aborted' : status} after ${Math.round(durationMs)} ms`,
    ),
  };
}

async function allRead(fleet: Fleet, contacts: readonly string[]): Promise<boolean> {
  const polls = pollsOf(await fleet.ledger<LoggedRequest>('request'), contacts);
  if (!contacts.every((id) => polls.get(id)?.some(isGood) === true)) return false;
  const redis = new Redis(fleet.redis.url);
  try {
    // No older pages are due or being read.
    return (await redis.zcard('tidings:{default}:polls:deep')) === 0;
  } finally {
    redis.disconnect();
  }
}

/** Kills the workers in turn. Returns the times of the kills. */
async function killInTurn(
  fleet: Fleet,
  environments: FaultPlan['workers'],
  stop: AbortSignal,
): Promise<number[]> {
  const kills: number[] = [];
  for (let victim = 0; ; victim = (victim + 1) % environments.length) {
    await pause(KILL_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    if (stop.aborted) return kills;
    // The workers are listed in the order of their starts, so that the first is the oldest.
    const [worker] = fleet.workers;
    if (worker === undefined) throw new Error('no worker is left');
    kills.push(Date.now());
    await fleet.kill(worker);
    await fleet.startWorker(environments[victim]);
  }
}

/**
 * Returns the requests for the messages of each contact. The last kill may have happened right before the end of the
 * trial, so this waits until all contacts that a killed worker was reading were requested again.
 */
async function pollsAfterTakeovers(
  fleet: Fleet,
  contacts: readonly string[],
  kills: readonly number[],
): Promise<Map<string, LoggedRequest[]>> {
  const deadline = performance.now() + TAKEN_UP_WITHIN_MS;
  for (;;) {
    const polls = pollsOf(await fleet.ledger<LoggedRequest>('request'), contacts);
    const areTakenUp = kills.every((at) => takenUpAfter(polls, at).afterMs < Infinity);
    if (areTakenUp || performance.now() > deadline) return polls;
    await pause(250);
  }
}

function pollsOf(
  requests: readonly LoggedRequest[],
  contacts: readonly string[],
): Map<string, LoggedRequest[]> {
  const polls = new Map<string, LoggedRequest[]>(contacts.map((id) => [id, []]));
  for (const request of requests) {
    const id = /\/contacts\/([^/]+)\/messages/.exec(request.path)?.[1] ?? '';
    polls.get(id)?.push(request);
  }
  for (const each of polls.values()) each.sort((a, b) => a.arrivedAt - b.arrivedAt);
  return polls;
}

function isGood({ status, aborted }: LoggedRequest): boolean {
  return status === 200 && !aborted;
}

function longestGap(
  polls: ReadonlyMap<string, readonly LoggedRequest[]>,
  began: number,
  until: number,
): number {
  let longest = 0;
  for (const each of polls.values()) {
    const reads = each.filter(isGood).map(({ arrivedAt }) => arrivedAt);
    const before = reads.filter((at) => at < began).at(-1) ?? began;
    const marks = [before, ...reads.filter((at) => at >= began && at < until), until];
    marks.slice(1).forEach((at, i) => (longest = Math.max(longest, at - (marks[i] ?? at))));
  }
  return Math.round(longest);
}

function overlapsIn(polls: ReadonlyMap<string, readonly LoggedRequest[]>): string[] {
  return [...polls].flatMap(([id, each]) =>
    each.flatMap((request, i) => {
      const before = each[i - 1];
      if (before === undefined) return [];
      const overlapMs = before.arrivedAt + before.durationMs - request.arrivedAt;
      return overlapMs <= 0 ? [] : [`${id}: ${request.path} began ${Math.round(overlapMs)} ms too early`];
    }),
  );
}

/**
 * Returns the number of contacts that a killed worker was reading, and the time until the last of them was
 * requested again.
 */
function takenUpAfter(
  polls: ReadonlyMap<string, readonly LoggedRequest[]>,
  killed: number,
): { contacts: number; afterMs: number } {
  const delays: number[] = [];
  for (const each of polls.values()) {
    const i = each.findIndex(
      ({ aborted, arrivedAt, durationMs }) =>
        aborted && arrivedAt <= killed && Math.abs(arrivedAt + durationMs - killed) < 1_000,
    );
    if (i !== -1) delays.push((each[i + 1]?.arrivedAt ?? Infinity) - killed);
  }
  return { contacts: delays.length, afterMs: Math.round(Math.max(0, ...delays)) };
}

async function reportsOf(
  fleet: Fleet,
  written: number,
): Promise<
  Pick<FaultOutcome, 'written' | 'missing' | 'reportedTwice' | 'longestDelayMs'> & {
    slowestMessage: CreatedMessage | undefined;
  }
> {
  const deadline = performance.now() + REPORTED_WITHIN_MS;
  let events = await fleet.events('message.received');
  while (events.length < written && performance.now() < deadline) {
    await pause(500);
    events = await fleet.events('message.received');
  }
  const first = new Map<string, number>();
  for (const { data, timestamp } of events) {
    const id = data.message?.id ?? '';
    if (!first.has(id)) first.set(id, Date.parse(timestamp));
  }
  const created = await fleet.ledger<CreatedMessage>('message.created');
  const delays = created
    .filter(({ message }) => message.startsWith('New '))
    .map((message) => ({ message, delay: (first.get(message.messageId) ?? Infinity) - message.time }))
    .sort((a, b) => b.delay - a.delay);
  const reported = delays.filter(({ delay }) => delay !== Infinity);
  return {
    written,
    missing: delays.length - reported.length,
    reportedTwice: events.length - first.size,
    longestDelayMs: reported[0]?.delay ?? 0,
    slowestMessage: delays[0]?.message,
  };
}
