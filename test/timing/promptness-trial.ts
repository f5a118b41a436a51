import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Fleet } from '../support/fleet.js';
import { type DelayFigures, figuresOf, type WrittenMessage } from '../support/traffic.js';

const LISTED_WITHIN_MS = 30_000;
const READ_WITHIN_MS = 120_000;
/** Request budget until everything has been read, before the measured traffic starts. */
const READING_PER_SECOND = 400;
/** Redis key of the contacts with due older pages. */
const DEEP_READS = 'tidings:{default}:polls:deep';
const BUDGET = 'tidings:{default}:budget';
/** Redis key of the reads that workers have leased. */
const LEASED_READS = 'tidings:{default}:polls:leased';
/** Time after the last message until an unreported message counts as missing, in milliseconds. */
const REPORTED_WITHIN_MS = 60_000;

/** Conditions of a trial. */
export interface PromptnessPlan {
  contacts: number;
  /** Number of old messages per contact. */
  knownMessages: number;
  workers: number;
  requestsPerSecond: number;
  /**
   * True if the traffic starts after every old message has been read. False if the traffic starts after the
   * first contact list.
   */
  warm: boolean;
  traffic: readonly WrittenMessage[];
  /** Time from the start during which messages are not measured, in milliseconds. */
  warmUpMs: number;
  /** Simulator settings. */
  settings?: object;
}

/**
 * A message, its time of creation in the simulator, and its detection delay. The delay is undefined if the
 * message was not reported.
 */
export interface ReportedMessage extends WrittenMessage {
  readonly delay: number | undefined;
}

/** The measurements of a trial. */
export interface PromptnessResult {
  /** The measured messages. */
  readonly messages: readonly ReportedMessage[];
  readonly figures: DelayFigures;
  /** Number of messages that were never reported. */
  readonly missing: number;
  /**
   * Number of requests during the measurement, and of them those for pages other than the first, by page and
   * limit.
   */
  readonly requests: number;
  readonly otherPages: Readonly<Record<string, number>>;
}

interface CreatedEntry {
  readonly time: number;
  readonly messageId: string;
  readonly contactId: string;
  readonly message: string;
}

/**
 * Plays recorded traffic to real workers. Measures the time from the creation of each message in the
 * simulator to its event in the log. The simulator and Redis share one clock here.
 */
export async function runPromptnessTrial(plan: PromptnessPlan): Promise<PromptnessResult> {
  await using fleet = await Fleet.open({
    environment: { UPSTREAM_REQUESTS_PER_SECOND: String(plan.requestsPerSecond) },
    settings: { ...plan.settings },
  });
  const contacts = await fleet.createContacts(plan.contacts, plan.knownMessages);
  await fleet.startGateway();
  if (plan.warm) {
    // Uses a larger budget, because reading old messages only gets the part of the budget that polls leave.
    const reader = await fleet.startWorker({ UPSTREAM_REQUESTS_PER_SECOND: String(READING_PER_SECOND) });
    await everythingRead(fleet, plan.contacts);
    await fleet.kill(reader);
  }
  await Promise.all(Array.from({ length: plan.workers }, () => fleet.startWorker()));
  await eventually(
    'the first list was read',
    async () => (await fleet.poller()).listedAt !== null,
    LISTED_WITHIN_MS,
  );
  const began = Date.now();
  for (const [n, { at, contact }] of plan.traffic.entries()) {
    const wait = began + at - Date.now();
    if (wait > 0) await pause(wait);
    await fleet.simulate('messages', { contactId: contacts[contact], text: `New ${n}` });
  }
  const until = Date.now();
  await everythingTold(fleet, plan.traffic.length);
  return await resultOf(fleet, plan, contacts, { began, until });
}

/** Waits until the first read of each contact is complete: no older pages are due or being read. */
async function everythingRead(fleet: Fleet, contacts: number): Promise<void> {
  const redis = new Redis(fleet.redis.url);
  const isConcluded = async (): Promise<boolean> => {
    const served = await fleet.ledger<{ contactId: string | null }>('list.served');
    const read = new Set(served.flatMap(({ contactId }) => contactId ?? []));
    if (read.size < contacts) return false;
    const [leased, deep] = await Promise.all([redis.zcard(LEASED_READS), redis.zcard(DEEP_READS)]);
    return leased === 0 && deep === 0;
  };
  try {
    await eventually('every contact was read completely', isConcluded, READ_WITHIN_MS);
    // Resets the recorded usage of other request classes, which limits the budget of polls.
    await redis.hset(BUDGET, 'other', 0);
  } finally {
    redis.disconnect();
  }
}

/** Waits until all messages are reported, or until a deadline. Missing messages are counted in the result. */
async function everythingTold(fleet: Fleet, count: number): Promise<void> {
  const deadline = performance.now() + REPORTED_WITHIN_MS;
  while (performance.now() < deadline) {
    if ((await fleet.events('message.received')).length >= count) return;
    await pause(500);
  }
}

async function resultOf(
  fleet: Fleet,
  { warmUpMs }: PromptnessPlan,
  contacts: readonly string[],
  { began, until }: { began: number; until: number },
): Promise<PromptnessResult> {
  const emitted = new Map<string, number>();
  for (const { data, timestamp } of await fleet.events('message.received')) {
    const id = data.message?.id ?? '';
    // Counts only the first event. Duplicates are covered by other trials.
    if (!emitted.has(id)) emitted.set(id, Date.parse(timestamp));
  }
  const indexOf = new Map(contacts.map((id, index) => [id, index]));
  const created = await fleet.ledger<CreatedEntry>('message.created');
  const messages = created
    .filter(({ time, message }) => message.startsWith('New ') && time >= began + warmUpMs)
    .map(({ time, messageId, contactId }): ReportedMessage => {
      const at = emitted.get(messageId);
      return {
        at: time - began,
        contact: indexOf.get(contactId) ?? -1,
        // The clocks' rounding may give a negative delay of one millisecond.
        delay: at === undefined ? undefined : Math.max(0, at - time),
      };
    });
  const requests = (await fleet.requests()).filter(
    ({ arrivedAt }) => arrivedAt >= began + warmUpMs && arrivedAt < until,
  );
  const delays = messages.flatMap(({ delay }) => delay ?? []);
  return {
    messages,
    figures: figuresOf(delays),
    missing: messages.length - delays.length,
    requests: requests.length,
    otherPages: otherPagesOf(requests.map(({ path }) => path)),
  };
}

function otherPagesOf(paths: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const path of paths) {
    const { pathname, searchParams } = new URL(path, 'http://simulator');
    const page = searchParams.get('page');
    const name = page === null ? pathname : `${page}/${searchParams.get('limit') ?? ''}`;
    if (name !== '1/20') counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
