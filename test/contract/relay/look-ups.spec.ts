import { describe, expect, it, jest } from '@jest/globals';
import type { Send, SendLookup } from '#relay';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, rounds, accept, find, relayUntil, failPosts } = relay;

/** Another person writes to the recipient. Returns the id of the message. */
function write(text: string): string {
  const message = { direction: 'outbound', phoneNumber: NUMBER, text };
  const { ids } = relay.harness.control('messages', message) as { ids: string[] };
  return ids[0] ?? '';
}
function lookupsOf({ lookups }: Send): SendLookup[] {
  if (lookups === undefined) throw new Error('The send has no list of look-ups.');
  return lookups;
}
/** Accepts a send whose POST fails with an unknown outcome and whose next look-up is due. Returns the id of the send. */
async function acceptWithDueLookup(): Promise<string> {
  failPosts('resetBefore');
  relay.harness.createContact(NUMBER);
  await relay.harness.sweep();
  const id = await accept();
  await runner().run(ACCOUNT, NUMBER);
  const record = await relay.harness.sends.find(ACCOUNT, id);
  if (record === undefined) throw new Error('the send was not found');
  await relay.harness.sends.apply(ACCOUNT, record, {
    transition: 'search_continued',
    state: { ...record.state, notBefore: 0 },
    laneDueInMs: 0,
  });
  return id;
}
const outcomesOf = (send: Send): string[] => lookupsOf(send).map(({ outcome }) => outcome);

describe('the look-ups of a send', () => {
  it('record the contact, the number of messages read, the time before which messages are ignored, and the outcome', async () => {
    failPosts('timeoutAfter');
    const contactId = relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    write('Another text');
    const send = await relayUntil(await accept(), 'sent');
    const last = lookupsOf(send).at(-1);
    expect(last).toMatchObject({ outcome: 'found', contactIds: [contactId], candidates: [], error: null });
    expect(last?.messagesRead).toBeGreaterThanOrEqual(2);
    const begun = Date.parse(send.attempts[0]?.at ?? '');
    expect(Math.abs(begun - 10_000 - Date.parse(last?.since ?? ''))).toBeLessThan(1_000);
    expect(Date.parse(last?.at ?? '')).toBeGreaterThanOrEqual(begun);
  });

  it('list the candidates if the send becomes unknown because several messages fit it equally well', async () => {
    failPosts('timeoutAfter');
    const id = await accept();
    await runner().run(ACCOUNT, NUMBER);
    const written = write('Hi');
    const send = await relayUntil(id, 'unknown');
    const last = lookupsOf(send).at(-1);
    expect(last?.outcome).toBe('ambiguous');
    expect(last?.candidates).toHaveLength(2);
    expect(last?.candidates.map(({ messageId }) => messageId)).toContain(written);
    for (const candidate of last?.candidates ?? [])
      expect(candidate).toEqual({
        contactId: last?.contactIds[0],
        messageId: expect.any(String),
        sentAt: expect.any(String),
        reason: 'Other messages fit this send equally well.',
        sendId: null,
      });
    expect(JSON.stringify(lookupsOf(send))).not.toContain('Hi');
  });

  it('list a message with the same text that belongs to another send, if the message of the send itself was not found', async () => {
    const first = await relayUntil(await accept(), 'accepted');
    await relay.harness.sweepUntil('sent', async () => (await find(first.id)).status === 'sent');
    const { messageId, contactId } = await find(first.id);
    failPosts('resetBefore');
    const send = await relayUntil(await accept(), 'unknown');
    expect(new Set(outcomesOf(send))).toEqual(new Set(['not_found']));
    expect(lookupsOf(send).at(-1)?.candidates).toMatchObject([
      { contactId, messageId, reason: 'The message belongs to another send.', sendId: first.id },
    ]);
    expect(lookupsOf(await find(first.id))).toEqual([]);
  });

  it('say why messages could not be read', async () => {
    failPosts('resetBefore');
    relay.harness.createContact(NUMBER);
    const id = await accept();
    relay.harness.control('faults', {
      match: { method: 'GET' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    const lane = runner();
    await eventually('a look-up failed', async () => {
      await lane.run(ACCOUNT, NUMBER);
      return outcomesOf(await find(id)).length > 0;
    });
    relay.harness.control('faults/clear');
    const send = await relayUntil(id, 'unknown', lane);
    expect(lookupsOf(send)[0]).toMatchObject({ outcome: 'failed', messagesRead: 0, candidates: [] });
    expect(lookupsOf(send)[0]?.error).toContain('500');
    expect(outcomesOf(send).at(-1)).toBe('not_found');
  });

  it('are made by only one process at a time, even if a look-up takes long', async () => {
    const id = await acceptWithDueLookup();
    const { lookup } = relay.harness;
    let end = (): void => undefined;
    const held = new Promise<void>((resolve) => (end = resolve));
    const lookUp = jest.spyOn(lookup, 'lookUp').mockImplementationOnce(async () => {
      await held;
      return false;
    });
    const slow = runner().run(ACCOUNT, NUMBER);
    await eventually('the look-up begins', () => lookUp.mock.calls.length === 1);
    expect(await relay.harness.sends.dueLanes(ACCOUNT, 10)).toEqual([]);
    await runner().run(ACCOUNT, NUMBER);
    expect(lookUp).toHaveBeenCalledTimes(1);
    end();
    await slow;
    expect(outcomesOf(await find(id)).at(-1)).toBe('incomplete');
    await relayUntil(id, 'unknown');
  });

  it('are made by only one process at a time, and are recorded, even if a look-up takes longer than its lease', async () => {
    const id = await acceptWithDueLookup();
    const impatient = runner({ lookupLeaseMs: 300 });
    let end = (): void => undefined;
    const held = new Promise<void>((resolve) => (end = resolve));
    const timestamp = Date.now() - 60_000;
    const lookUp = jest.spyOn(relay.harness.lookup, 'lookUp').mockImplementationOnce(async (...args) => {
      args[2]?.reads?.add(
        'con_1',
        [
          {
            ...{ id: 'other', direction: 'outbound', body: 'Hi', attachments: 0, timestamp },
            ...{ delivered: false, read: false, raw: {} },
          },
        ],
        0,
      );
      await held;
      return false;
    });
    const slow = impatient.run(ACCOUNT, NUMBER);
    const began = performance.now();
    await eventually('three leases have passed', async () => {
      const due = await relay.harness.sends.dueLanes(ACCOUNT, 10);
      if (due.length > 0) await impatient.run(ACCOUNT, NUMBER);
      return performance.now() - began > 900;
    });
    expect(lookUp).toHaveBeenCalledTimes(1);
    end();
    await slow;
    expect(lookupsOf(await find(id)).at(-1)).toMatchObject({
      outcome: 'incomplete',
      candidates: [{ messageId: 'other' }],
    });
    await relayUntil(id, 'unknown');
  });

  it('are kept when the send is resolved, and are not part of events', async () => {
    failPosts('resetBefore');
    const id = await accept();
    const { lookups } = await relayUntil(id, 'unknown');
    expect(lookups?.length).toBeGreaterThan(0);
    expect((await relay.intake.resolve(ACCOUNT, id, 'failed'))?.lookups).toEqual(lookups);
    for (const { data } of await relay.harness.deliveredEvents())
      expect(data['send'] ?? {}).not.toHaveProperty('lookups');
  });

  it('are recorded even if the send is accepted and its message does not appear', async () => {
    relay.harness.control('settings', { sendLostProbability: 1 });
    relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    const id = await accept();
    await relayUntil(id, 'accepted');
    await eventually('the event was emitted', async () => {
      await rounds().confirm(ACCOUNT);
      return (await relay.harness.eventTypes()).includes('send.unconfirmed');
    });
    const send = await find(id);
    expect(outcomesOf(send).length).toBeGreaterThan(0);
    expect(new Set(outcomesOf(send))).toEqual(new Set(['not_found']));
  });

  it('do not include polls: if a poll finds the message of a send, no look-up is stored', async () => {
    const id = await accept();
    await relayUntil(id, 'accepted');
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(lookupsOf(await find(id))).toEqual([]);
    const record = await relay.harness.sends.find(ACCOUNT, id);
    expect(record?.state).not.toHaveProperty('lookups');
  });
});
