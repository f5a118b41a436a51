import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import type { EmittedEvent } from '../support/oracle/message-check.js';
import { startTestSentinel, type TestSentinel } from '../support/redis-sentinel.js';
import { FeedTrial, tally } from './feed-trial.js';

/** Time from the first change to the death of the master, in milliseconds. */
const FAILOVER_AFTER_MS = 25_000;
/** Time before the master's death during which its writes are not replicated, in milliseconds. */
const UNREPLICATED_MS = 700;
/** Maximum time from a write until it has been sent to a connected replica, in milliseconds. */
const REPLICATION_LAG_MS = 500;
const SEND_EVERY_MS = 150;

/** Time for which a send that was unfinished at the failover is looked up before its POST, in milliseconds. */
const SEND_CONFIRM_MS = 20_000;
const SENDS_END_WITHIN_MS = 60_000;
const LOST = 'lost';
const FINAL_STATUSES = new Set(['sent', 'delivered', 'read', 'unknown', 'failed', 'expired']);

let trial: FeedTrial<TestSentinel> | undefined;

afterEach(async () => {
  await trial?.[Symbol.asyncDispose]();
  trial = undefined;
}, 60_000);

/** A send that was answered with 200. */
interface Accepted {
  id: string;
  message: string;
  /** When the answer arrived, in milliseconds by `performance.now()`. */
  at: number;
}

interface Sending {
  accepted: Accepted[];
  /** Refused sends: the status, and the duration of the request in milliseconds. */
  refusals: { status: number; ms: number }[];
}

/** Sends one text after another until the signal aborts. Ignores errors. */
async function sendContinuously(running: FeedTrial<TestSentinel>, stop: AbortSignal): Promise<Sending> {
  const sending: Sending = { accepted: [], refusals: [] };
  for (let i = 0; !stop.aborted; i += 1) {
    const message = `Send ${i}`;
    const { phoneNumber } = running.recipients[i % running.recipients.length] ?? {};
    const began = performance.now();
    const response = await running.product.call('POST', '/v1/messages/send', { phoneNumber, message });
    const at = performance.now();
    const ms = Math.round(at - began);
    const { id } = (await response.json()) as { id?: string };
    if (response.status === 200 && id !== undefined) sending.accepted.push({ id, message, at });
    else sending.refusals.push({ status: response.status, ms });
    await pause(SEND_EVERY_MS);
  }
  return sending;
}

/** When the replication to the replica ended, and when the master was dead, by `performance.now()`. */
interface Failover {
  unreplicatedFrom: number;
  masterDeadAt: number;
}

/** Kills the master so that its last writes are lost. Waits until the replica has been promoted. */
async function failOver(layout: TestSentinel): Promise<Failover> {
  const { master, replica } = layout;
  const unreplicatedFrom = performance.now();
  replica.kill('SIGSTOP');
  await master.ask('CLIENT', 'KILL', 'TYPE', 'replica');
  await pause(UNREPLICATED_MS);
  await master.end();
  const masterDeadAt = performance.now();
  replica.kill('SIGCONT');
  await layout.promoted();
  return { unreplicatedFrom, masterDeadAt };
}

async function statusOf({ product }: FeedTrial<TestSentinel>, id: string): Promise<string> {
  const reply = await product.call('GET', `/v1/sends/${id}`);
  const { status } = (await reply.json()) as { status: string | number };
  return reply.status === 404 ? LOST : String(status);
}

/**
 * Returns the content of an event for comparison. Ignores the time of send events: a repeated status change
 * is the same change.
 */
function contentOf({ type, contactId, data }: EmittedEvent): string {
  return JSON.stringify([type, contactId, data], (key, value: unknown) =>
    type.startsWith('send.') && key === 'updatedAt' ? undefined : value,
  );
}

/**
 * Returns events that a subscriber read and that the log now holds with different content under the same id.
 */
function changedEvents(
  read: readonly EmittedEvent[],
  log: readonly EmittedEvent[],
): { was: string; is: string }[] {
  const kept = new Map(log.map((event) => [event.id, contentOf(event)]));
  return read.flatMap((event) => {
    const [was, is] = [contentOf(event), kept.get(event.id)];
    return is === undefined || is === was ? [] : [{ was, is }];
  });
}

/** Counts the differences between the events that a subscriber read and the events in the log. */
function losses(read: readonly EmittedEvent[], log: readonly EmittedEvent[]): Record<string, number> {
  const kept = new Map(log.map((event) => [event.id, event]));
  const lost = read.filter(({ id }) => !kept.has(id));
  const contents = new Set(log.map(contentOf));
  const readIds = new Set(read.map(({ id }) => id));
  return {
    eventsReadAndLost: lost.length,
    ofThemToldAgainUnderAnotherId: lost.filter((event) => contents.has(contentOf(event))).length,
    idsUsedForAnotherForm: changedEvents(read, log).length,
    eventsThatTheSubscriberNeverRead: log.filter(({ id }) => !readIds.has(id)).length,
  };
}

describe('a failover by Redis Sentinel', () => {
  it('loses only writes that were not replicated; the product then works without a restart and reports every change at upstream', async () => {
    trial = await FeedTrial.start(await startTestSentinel(), {
      SEND_CONFIRM_MS: String(SEND_CONFIRM_MS),
    });
    const running = trial;
    const { product } = running;
    const processes = [product.gateway, product.worker, running.second].map((process) => process?.child);
    const stop = new AbortController();
    const sendingOn = sendContinuously(running, stop.signal);
    const driving = running.drive(false);
    await pause(FAILOVER_AFTER_MS);
    const readBefore = running.read.length;
    const diedAt = performance.now();
    const { unreplicatedFrom, masterDeadAt } = await failOver(product.redis);
    const failoverMs = Math.round(performance.now() - diedAt);
    await driving;
    stop.abort();
    const { accepted, refusals } = await sendingOn;

    const { faults, events } = await running.judge();
    while (await running.readOn());
    const statuses = (): Promise<string[]> => Promise.all(accepted.map(({ id }) => statusOf(running, id)));
    const seen = await eventually(
      'every stored send has ended',
      async () => {
        const now = await statuses();
        return now.every((status) => status === LOST || FINAL_STATUSES.has(status)) && now;
      },
      SENDS_END_WITHIN_MS,
    ).catch(statuses);
    const { entries } = await product.simulate<{ entries: { message: string }[] }>('ledger', {
      kind: 'send.accepted',
    });
    const texts = entries.map(({ message }) => message);
    const lostSends = accepted.filter((_, i) => seen[i] === LOST);
    running.print('Through a failover', {
      failoverMs,
      readBefore,
      sendsAccepted: accepted.length,
      sendsRefused: refusals.length,
      slowestRefusalMs: Math.max(0, ...refusals.map(({ ms }) => ms)),
      sendsByStatus: Object.fromEntries(
        [...new Set(seen)].map((status) => [status, seen.filter((other) => other === status).length]),
      ),
      sendsLost: lostSends.length,
      ofThemTextsThatWereSentAllTheSame: lostSends.filter(({ message }) => texts.includes(message)).length,
      textsSentTwice: texts.length - new Set(texts).size,
      ...losses(running.read, events),
      ...running.oracle.counts(events),
      ...tally(faults),
    });
    if (faults.length > 0) process.stdout.write(running.complaints());
    // The log is complete: lost events were lost together with the snapshot, so that their changes were
    // detected again.
    expect(faults.slice(0, 20)).toEqual([]);
    // A subscriber's cursor from before the failover still leads to all later events.
    expect(losses(running.read, events)['eventsThatTheSubscriberNeverRead']).toBe(0);
    // No process was restarted.
    expect(processes.map((child) => [child?.exitCode, child?.signalCode])).toEqual(
      processes.map(() => [null, null]),
    );
    expect(events.length).toBeGreaterThan(readBefore + 1_000);
    // Refused callers received a 503 in time.
    expect(refusals.filter(({ status, ms }) => status !== 503 || ms >= 2_000)).toEqual([]);
    // Only sends were lost that were accepted while the master had no replica.
    const from = unreplicatedFrom - REPLICATION_LAG_MS;
    expect(lostSends.filter(({ at }) => at < from || at > masterDeadAt + REPLICATION_LAG_MS)).toEqual([]);
    // No text is sent twice, even then. A lost send is lost together with its record.
    expect(texts.filter((text, i) => texts.indexOf(text) !== i)).toEqual([]);
    expect(accepted.filter(({ message }, i) => seen[i] !== LOST && !texts.includes(message))).toEqual([]);
    // Every stored send has ended.
    expect(seen.filter((status) => status !== LOST && !FINAL_STATUSES.has(status))).toEqual([]);
    // No lost event id is reused for different content.
    expect(changedEvents(running.read, events)).toEqual([]);
  }, 600_000);
});
