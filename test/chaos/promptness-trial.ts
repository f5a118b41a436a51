import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { Fleet } from '../support/fleet.js';
import { type DelayFigures, figuresOf, type Written } from '../support/traffic.js';

const LISTED_WITHIN_MS = 30_000;
const READ_WITHIN_MS = 120_000;
/** The budget by which everything is read before the traffic begins. */
const READING_PER_SECOND = 400;
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
  /** Requests that upstream got while it was measured, and of these the ones for a first page. */
  readonly requests: number;
  readonly firstPages: number;
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
    await everythingRead(fleet, plan.contacts * plan.knownMessages);
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

async function everythingRead(fleet: Fleet, messages: number): Promise<void> {
  const look = async (): Promise<boolean> => {
    const served = await fleet.ledger<{ contactId: string | null; ids: string[] }>('list.served');
    return new Set(served.flatMap(({ contactId, ids }) => (contactId === null ? [] : ids))).size >= messages;
  };
  const deadline = performance.now() + READ_WITHIN_MS;
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error('not every message was read once');
    await pause(2_000);
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
    firstPages: requests.filter(({ path }) => /[?&]page=1(&|$)/.test(path)).length,
  };
}
