import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import type { ToldEvent } from '../support/oracle/message-check.js';
import { startTestSentinel, type TestSentinel } from '../support/redis-sentinel.js';
import { FeedTrial, tally } from './feed-trial.js';

/** When the master dies, after the first change. */
const FAILOVER_AFTER_MS = 25_000;
/** What the master acknowledges in this time before its death, its replica never hears of. */
const UNREPLICATED_MS = 700;
const SEND_EVERY_MS = 150;

/** An unfinished send of before the failover is looked for so long before its POST; then it must end soon. */
const SEND_CONFIRM_MS = 20_000;
const SENDS_END_WITHIN_MS = 60_000;
const LOST = 'lost';
const ENDS = new Set(['sent', 'delivered', 'read', 'unknown', 'failed', 'expired']);

let trial: FeedTrial<TestSentinel> | undefined;

afterEach(async () => {
  await trial?.[Symbol.asyncDispose]();
  trial = undefined;
}, 60_000);

/** A send that was answered 200. */
interface Accepted {
  id: string;
  message: string;
}

interface Sending {
  accepted: Accepted[];
  /** How long the refusals took, in milliseconds, by status. */
  refusals: { status: number; ms: number }[];
}

/** Sends one text after the other until it is told to stop, whatever the answers. */
async function sendOn(running: FeedTrial<TestSentinel>, stop: AbortSignal): Promise<Sending> {
  const sending: Sending = { accepted: [], refusals: [] };
  for (let i = 0; !stop.aborted; i += 1) {
    const message = `Send ${i}`;
    const { phoneNumber } = running.recipients[i % running.recipients.length] ?? {};
    const began = performance.now();
    const response = await running.product.call('POST', '/v1/messages/send', { phoneNumber, message });
    const ms = Math.round(performance.now() - began);
    const { id } = (await response.json()) as { id?: string };
    if (response.status === 200 && id !== undefined) sending.accepted.push({ id, message });
    else sending.refusals.push({ status: response.status, ms });
    await pause(SEND_EVERY_MS);
  }
  return sending;
}

/** Kills the master so that its last moments are lost, and waits until the replica has taken over. */
async function failOver(layout: TestSentinel): Promise<void> {
  const { master, replica } = layout;
  replica.kill('SIGSTOP');
  await master.ask('CLIENT', 'KILL', 'TYPE', 'replica');
  await pause(UNREPLICATED_MS);
  master.kill('SIGKILL');
  replica.kill('SIGCONT');
  await layout.promoted();
}

async function statusOf({ product }: FeedTrial<TestSentinel>, id: string): Promise<string> {
  const reply = await product.call('GET', `/v1/sends/${id}`);
  const { status } = (await reply.json()) as { status: string | number };
  return reply.status === 404 ? LOST : String(status);
}

/** A step of a send that is taken again after it was lost is the same change, at another time. */
function contentOf({ type, contactId, data }: ToldEvent): string {
  return JSON.stringify([type, contactId, data], (key, value: unknown) =>
    type.startsWith('send.') && key === 'updatedAt' ? undefined : value,
  );
}

/** What a subscriber had read, and what stands under its id now: where the two are of different forms. */
function otherForms(read: readonly ToldEvent[], log: readonly ToldEvent[]): { was: string; is: string }[] {
  const kept = new Map(log.map((event) => [event.id, contentOf(event)]));
  return read.flatMap((event) => {
    const [was, is] = [contentOf(event), kept.get(event.id)];
    return is === undefined || is === was ? [] : [{ was, is }];
  });
}

/** What a subscriber had read and the log has no more, and what it has in another form. */
function losses(read: readonly ToldEvent[], log: readonly ToldEvent[]): Record<string, number> {
  const kept = new Map(log.map((event) => [event.id, event]));
  const lost = read.filter(({ id }) => !kept.has(id));
  const contents = new Set(log.map(contentOf));
  const readIds = new Set(read.map(({ id }) => id));
  return {
    eventsReadAndLost: lost.length,
    ofThemToldAgainUnderAnotherId: lost.filter((event) => contents.has(contentOf(event))).length,
    idsUsedForAnotherForm: otherForms(read, log).length,
    eventsThatTheSubscriberNeverRead: log.filter(({ id }) => !readIds.has(id)).length,
  };
}

describe('a failover by sentinels', () => {
  it('loses what the replica lacked, and nothing else: all goes on by itself, and what happened upstream is told', async () => {
    trial = await FeedTrial.start(await startTestSentinel(), {
      SEND_CONFIRM_MS: String(SEND_CONFIRM_MS),
    });
    const running = trial;
    const { product } = running;
    const processes = [product.gateway, product.worker, running.second].map((process) => process?.child);
    const stop = new AbortController();
    const sendingOn = sendOn(running, stop.signal);
    const driving = running.drive(false);
    await pause(FAILOVER_AFTER_MS);
    const readBefore = running.read.length;
    const diedAt = performance.now();
    await failOver(product.redis);
    const failoverMs = Math.round(performance.now() - diedAt);
    await driving;
    stop.abort();
    const { accepted, refusals } = await sendingOn;

    const { faults, events } = await running.judge();
    while (await running.readOn());
    const statuses = (): Promise<string[]> => Promise.all(accepted.map(({ id }) => statusOf(running, id)));
    const seen = await eventually(
      'every send that is kept has ended',
      async () => {
        const now = await statuses();
        return now.every((status) => status === LOST || ENDS.has(status)) && now;
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
    // The log as it is now is whole: what was lost was lost together with what was known of it, so it was found anew.
    expect(faults.slice(0, 20)).toEqual([]);
    // A subscriber's cursor of before still leads to all that came after.
    expect(losses(running.read, events)['eventsThatTheSubscriberNeverRead']).toBe(0);
    // Nobody had to be restarted.
    expect(processes.map((child) => [child?.exitCode, child?.signalCode])).toEqual(
      processes.map(() => [null, null]),
    );
    expect(events.length).toBeGreaterThan(readBefore + 1_000);
    // Whoever was refused was told so in time, and knows that it was the store.
    expect(refusals.filter(({ status, ms }) => status !== 503 || ms >= 2_000)).toEqual([]);
    // No text is sent twice, even so (CONTRACT section 10); one that is lost is lost with its record.
    expect(texts.filter((text, i) => texts.indexOf(text) !== i)).toEqual([]);
    expect(accepted.filter(({ message }, i) => seen[i] !== LOST && !texts.includes(message))).toEqual([]);
    // And what was kept came to its end.
    expect(seen.filter((status) => status !== LOST && !ENDS.has(status))).toEqual([]);
    // Whoever read an event that is lost is not shown another one under its id.
    expect(otherForms(running.read, events)).toEqual([]);
  }, 600_000);
});
