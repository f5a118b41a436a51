import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Fleet } from '../support/fleet.js';

/** Number of messages per contact: thirty pages of upstream's page size. */
const MESSAGES = 600;
const PAGE = 20;
const CONTACTS = 3;
/** Delay of every reply, in milliseconds. Thirty pages take 15 s. */
const REPLY_MS = 500;
/** Upstream fails for 2 s out of every 8 s, so that no read of all pages succeeds without a failure. */
const GOOD_MS = 6_000;
const BAD_MS = 2_000;
const READ_WITHIN_MS = 150_000;
const REPORTED_WITHIN_MS = 150_000;
/**
 * Maximum delay of a new message: one good phase, one bad phase, and the retry delay of a failed poll, in
 * milliseconds.
 */
const NEW_REPORTED_WITHIN_MS = 20_000;

const MESSAGE_READS = { path: '/messages\\?' };
const SLOW = { match: MESSAGE_READS, fault: { kind: 'slow', delayMs: REPLY_MS }, times: 'always' };
const FAILING = { match: MESSAGE_READS, fault: { kind: 'status', status: 500 }, times: 'always' };

let fleet: Fleet | undefined;

afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
  fleet = undefined;
}, 60_000);

/** Makes upstream slow, and fail from time to time, until the signal aborts. */
async function disturb(upstream: Fleet, stop: AbortSignal): Promise<void> {
  for (let bad = false; !stop.aborted; bad = !bad) {
    await upstream.simulate('faults/clear');
    await upstream.simulate('faults', { faults: bad ? [FAILING] : [SLOW] });
    await pause(bad ? BAD_MS : GOOD_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Returns the number of distinct messages served per contact. */
async function served(upstream: Fleet): Promise<Record<string, number>> {
  const lists = await upstream.ledger<{ contactId: string | null; ids: string[] }>('list.served');
  const ids = new Map<string, Set<string>>();
  for (const { contactId, ids: shown } of lists) {
    if (contactId === null) continue;
    const known = ids.get(contactId) ?? new Set<string>();
    for (const id of shown) known.add(id);
    ids.set(contactId, known);
  }
  return Object.fromEntries([...ids].map(([id, known]) => [id, known.size]));
}

describe('a contact with thirty pages of messages', () => {
  it('is read completely, also by later sweeps, and its new messages are reported, while upstream is slow and fails in bursts', async () => {
    const running = await Fleet.open({
      environment: {
        UPSTREAM_REQUESTS_PER_SECOND: '30',
        POLL_MAX_INTERVAL_MS: '5000',
        POLL_SWEEP_INTERVAL_MS: '20000',
      },
      settings: { limitCap: PAGE },
    });
    fleet = running;
    const contacts = await running.createContacts(CONTACTS, MESSAGES);
    const stop = new AbortController();
    const disturbing = disturb(running, stop.signal);
    try {
      await running.startGateway();
      await running.startWorker();
      const began = performance.now();
      await eventually(
        'the contact list was read',
        async () => (await running.poller()).contacts === CONTACTS,
      );
      for (const contactId of contacts) await running.simulate('messages', { contactId });
      await eventually(
        'the new message of each contact is reported',
        async () => (await running.events('message.received')).length === CONTACTS,
        NEW_REPORTED_WITHIN_MS,
      );
      await eventually(
        'every message of each contact was read',
        async () => {
          const counts = await served(running);
          return contacts.every((id) => (counts[id] ?? 0) > MESSAGES);
        },
        READ_WITHIN_MS,
      );
      const readMs = Math.round(performance.now() - began);
      const { contacts: shown } = await running.simulate<{ contacts: { messages: { id: string }[] }[] }>(
        'state',
      );
      const oldest = shown.map(({ messages }) => messages[0]?.id ?? '');
      for (const id of oldest) await running.simulate('messages/edit', { id, message: 'Edited' });
      const edited = performance.now();
      await eventually(
        'the change of each oldest message is reported',
        async () => (await running.events('message.updated')).length === CONTACTS,
        REPORTED_WITHIN_MS,
      );
      const sweptMs = Math.round(performance.now() - edited);
      process.stdout.write(`Thirty pages: ${JSON.stringify({ readMs, sweptMs })}\n`);
      const emitted = (await running.events('message.updated')).map(({ data }) => data.message?.id);
      expect(emitted.toSorted()).toEqual(oldest.toSorted());
      expect(await running.events('message.received')).toHaveLength(CONTACTS);
    } finally {
      stop.abort();
      await disturbing;
    }
  }, 420_000);
});
