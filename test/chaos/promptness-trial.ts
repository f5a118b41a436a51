import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Fleet } from '../support/fleet.js';
import { type DelayFigures, figuresOf, type Written } from '../support/traffic.js';

const LISTED_WITHIN_MS = 30_000;
const READ_WITHIN_MS = 120_000;
/** The budget by which everything is read before the traffic begins. */
const READING_PER_SECOND = 400;
/** The contacts that something is to be read of below their heads. */
const DEEP_READS = 'tidings:{default}:polls:deep';
const BUDGET = 'tidings:{default}:budget';
/** The reads that workers are at. */
const LEASED_READS = 'tidings:{default}:polls:leased';
/** What is not told so long after the last message was written counts as missing. */
const TOLD_WITHIN_MS = 60_000;

export interface PromptnessPlan {
  contacts: number;
  /** That each contact has before anyone reads it. */
  knownMessages: number;
  workers: number;
  requestsPerSecond: number;
  /** Whether the traffic begins once every known message has been read; else once the first list has. */
  warm: boolean;
  traffic: readonly Written[];
  /** What is written in so many milliseconds from the beginning is not measured. */
  warmUpMs: number;
  /** Simulator settings. */
  settings?: object;
}

/** A message, when it was written in the simulator, and how late it was told; undefined where it was not. */
export interface ToldMessage extends Written {
  readonly delay: number | undefined;
}

export interface PromptnessResult {
  /** Those that were measured. */
  readonly messages: readonly ToldMessage[];
  readonly figures: DelayFigures;
  /** Never told. */
  readonly missing: number;
  /** Requests that upstream got while it was measured, and of these the ones for other pages than the first, by page and limit. */
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
 * Plays a trace of messages to real workers and takes the time from each message's writing in the simulator until its
 * event is in the log, by the simulator's clock and Redis', which are one here.
 */
export async function tryPromptness(plan: PromptnessPlan): Promise<PromptnessResult> {
  await using fleet = await Fleet.open({
    environment: { UPSTREAM_REQUESTS_PER_SECOND: String(plan.requestsPerSecond) },
    settings: { ...plan.settings },
  });
  const contacts = await fleet.fill(plan.contacts, plan.knownMessages);
  await fleet.startGateway();
  if (plan.warm) {
    // With a larger budget, for what is old is read with what the polls leave of it: by the plan's that takes a while.
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

/** Waits until the first read of each contact is concluded: nothing below the heads is due or under way any more. */
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
    await eventually('every contact was read whole', isConcluded, READ_WITHIN_MS);
    // As if that had been a while ago: the polls are planned by what others used lately.
    await redis.hset(BUDGET, 'other', 0);
  } finally {
    redis.disconnect();
  }
}

/** Ends also where something is never told: that is judged by the result. */
async function everythingTold(fleet: Fleet, count: number): Promise<void> {
  const deadline = performance.now() + TOLD_WITHIN_MS;
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
  const told = new Map<string, number>();
  for (const { data, timestamp } of await fleet.events('message.received')) {
    const id = data.message?.id ?? '';
    // The first time counts; a second one would be a fault that other trials look for.
    if (!told.has(id)) told.set(id, Date.parse(timestamp));
  }
  const indexOf = new Map(contacts.map((id, index) => [id, index]));
  const created = await fleet.ledger<CreatedEntry>('message.created');
  const messages = created
    .filter(({ time, message }) => message.startsWith('New ') && time >= began + warmUpMs)
    .map(({ time, messageId, contactId }): ToldMessage => {
      const at = told.get(messageId);
      return {
        at: time - began,
        contact: indexOf.get(contactId) ?? -1,
        // A millisecond of the two clocks' rounding is no forecast.
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
