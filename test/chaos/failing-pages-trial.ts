import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { Fleet, type PollerStatus } from '../support/fleet.js';
import { INSPECTABLE, liveHeapOf } from '../support/heap.js';

/** Interval between two polls of each contact, in milliseconds. */
const POLL_EVERY_MS = 300;
/** Interval of the sweep of all messages, in milliseconds. Two sweeps fit into a trial. */
const SWEEP_MS = 20_000;
const MEASURED_MS = 42_000;
/**
 * The requests of two whole sweep intervals are counted, in milliseconds after the start of the trial. Contacts without
 * faults are swept at the start and the end of each interval, so these times lie between two sweeps.
 */
const COUNTED = { from: SWEEP_MS / 4, to: SWEEP_MS / 4 + 2 * SWEEP_MS };
const WRITE_EVERY_MS = 4_000;
/** Time after the end of the trial until an unreported message counts as missing, in milliseconds. */
const REPORTED_WITHIN_MS = 10_000;
const OLD_MESSAGES = 45;
const REQUESTED_WITHIN_MS = 90_000;

/** The measurements of one contact. */
export interface ContactOutcome {
  /**
   * Delays from the creation of each new message to its event, in milliseconds. Undefined if no event was
   * emitted.
   */
  readonly delays: readonly (number | undefined)[];
  /** Number of requests for this contact's messages in two sweep intervals. */
  readonly requests: number;
}

/** The measurements of a trial. */
export interface TroubleOutcome<Name extends string> {
  readonly of: Readonly<Record<Name, ContactOutcome>>;
  readonly status: { upstream: { state: string }; poller: PollerStatus };
  /**
   * By how much the live heap of the worker grew during the trial at most, in bytes. Garbage does not count, because
   * its amount depends on how busy the machine is.
   */
  readonly heapGrowth: number;
  readonly complaints: string;
  /** Message and contact ids by event type. */
  readonly emitted: ReadonlyMap<string, readonly string[]>;
}

/** The contacts of a trial by name, each with its old messages, newest first. */
export type World<Name extends string> = Readonly<
  Record<Name, { readonly id: string; readonly messages: readonly string[] }>
>;

/** A trial: its contacts and the faults of upstream. */
export interface Trouble<Name extends string> {
  readonly contacts: readonly Name[];
  /** Returns simulator settings to apply before the first read. */
  before?: (world: World<Name>) => object;
  /** Returns simulator settings to apply after the first page of every contact was read. */
  then?: (world: World<Name>) => object;
  /** Runs in the middle of the measurement. */
  midway?: (fleet: Fleet, world: World<Name>) => Promise<void>;
}

/** Runs one worker against a faulty upstream while each contact gets a new message every few seconds. */
export async function runTroubleTrial<Name extends string>(
  plan: Trouble<Name>,
): Promise<TroubleOutcome<Name>> {
  await using fleet = await Fleet.open({
    environment: {
      UPSTREAM_REQUESTS_PER_SECOND: '60',
      POLL_MIN_INTERVAL_MS: String(POLL_EVERY_MS),
      POLL_MAX_INTERVAL_MS: String(POLL_EVERY_MS),
      POLL_SWEEP_INTERVAL_MS: String(SWEEP_MS),
      CONTACTS_INTERVAL_MS: '2000',
    },
  });
  const world = await makeWorld(fleet, plan.contacts);
  const apply = async (settings: object | undefined): Promise<void> => {
    if (settings !== undefined) await fleet.simulate('settings', settings);
  };
  await apply(plan.before?.(world));
  await fleet.startGateway();
  const worker = await fleet.startWorker(INSPECTABLE);
  await waitForFirstPages(fleet, plan, world);
  const heapBefore = await liveHeapOf(worker);
  let heapMax = heapBefore;
  const sampleHeap = async (): Promise<void> => {
    heapMax = Math.max(heapMax, await liveHeapOf(worker));
  };
  await apply(plan.then?.(world));
  const began = Date.now();
  for (let n = 0; n * WRITE_EVERY_MS < MEASURED_MS; n += 1) {
    await pause(Math.max(0, began + n * WRITE_EVERY_MS - Date.now()));
    if (n * WRITE_EVERY_MS >= MEASURED_MS / 2 && (n - 1) * WRITE_EVERY_MS < MEASURED_MS / 2)
      await plan.midway?.(fleet, world);
    for (const name of plan.contacts)
      await fleet.simulate('messages', { contactId: world[name].id, text: `New ${n}` });
    await sampleHeap();
  }
  await pause(REPORTED_WITHIN_MS);
  await sampleHeap();
  return {
    of: await outcomes(fleet, plan.contacts, world, began),
    status: await fleet.json('/v1/status'),
    emitted: await reportedIds(fleet),
    heapGrowth: heapMax - heapBefore,
    complaints: fleet.workerOutput(),
  };
}

async function makeWorld<Name extends string>(fleet: Fleet, names: readonly Name[]): Promise<World<Name>> {
  const world: Partial<Record<Name, { id: string; messages: string[] }>> = {};
  const timestamp = Date.now() - 2 * 3_600_000;
  for (const [n, name] of names.entries()) {
    const phoneNumber = `+1555123${String(1_000 + n)}`;
    const { contacts } = await fleet.simulate<{ contacts: { id: string }[] }>('contacts', { phoneNumber });
    const id = contacts[0]?.id ?? '';
    const { ids } = await fleet.simulate<{ ids: string[] }>('messages', {
      ...{ contactId: id, count: OLD_MESSAGES, text: 'Old {n}', timestamp, intervalMs: 1_000 },
    });
    world[name] = { id, messages: ids.toReversed() };
  }
  return world as World<Name>;
}

async function waitForFirstPages<Name extends string>(
  fleet: Fleet,
  { contacts }: Trouble<Name>,
  world: World<Name>,
): Promise<void> {
  const allRequested = async (): Promise<boolean> => {
    const paths = (await fleet.requests()).map(({ path }) => path);
    return contacts.every((name) => paths.filter((path) => path.includes(world[name].id)).length > 2);
  };
  await eventually('every contact was requested', allRequested, REQUESTED_WITHIN_MS);
}

async function outcomes<Name extends string>(
  fleet: Fleet,
  names: readonly Name[],
  world: World<Name>,
  began: number,
): Promise<Record<Name, ContactOutcome>> {
  const reportedAt = new Map<string, number>();
  for (const { data, timestamp } of await fleet.events('message.received'))
    reportedAt.set(data.message?.id ?? '', Date.parse(timestamp));
  const created = await fleet.ledger<{ time: number; contactId: string; messageId: string }>(
    'message.created',
  );
  const requests = (await fleet.requests()).filter(
    ({ arrivedAt }) => arrivedAt >= began + COUNTED.from && arrivedAt < began + COUNTED.to,
  );
  const outcomeOf = (id: string): ContactOutcome => ({
    delays: created
      .filter(({ contactId, time }) => contactId === id && time >= began)
      .map(({ messageId, time }) => {
        const at = reportedAt.get(messageId);
        return at === undefined ? undefined : at - time;
      }),
    requests: requests.filter(({ path }) => path.includes(`/${id}/messages`)).length,
  });
  return Object.fromEntries(names.map((name) => [name, outcomeOf(world[name].id)])) as Record<
    Name,
    ContactOutcome
  >;
}

async function reportedIds(fleet: Fleet): Promise<Map<string, string[]>> {
  const reported = new Map<string, string[]>();
  for (const { type, data } of await fleet.events()) {
    const ids = reported.get(type) ?? [];
    ids.push(data.message?.id ?? data.contact?.id ?? '');
    reported.set(type, ids);
  }
  return reported;
}
