import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { postRequestLeaseMs } from '../../../libs/relay/src/send/relay-settings.js';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

/** With `resend`, a send whose POST had no clear outcome is posted again, unless its message is found. */
const relay = new WithLane({ onUnknown: 'resend', confirmMs: 300 });
const { runner, accept, find, relayUntil, memory, posts, failPosts } = relay;

/** Creates a contact that shows neither its phone number nor, until its messages are read, any message. */
const createContact = (phoneNumber: string): string =>
  relay.harness.createContact(phoneNumber, { name: 'Somebody' });

const failReads = (contactId: string, status: number): object =>
  relay.harness.control('faults', {
    match: { method: 'GET', contactId },
    fault: { kind: 'status', status },
    times: 'always',
  });

/** Runs the lane until a look-up was incomplete, because not all contacts could be read. */
async function untilIncomplete(id: string): Promise<void> {
  await eventually('a look-up was incomplete', async () => {
    await runner().run(ACCOUNT, NUMBER);
    const { lookups = [] } = await find(id);
    return lookups.some(({ outcome }) => outcome === 'incomplete');
  });
}

beforeEach(() => {
  relay.harness.control('settings', { contactPhoneField: null });
});

describe('while contacts do not contain their phone number, a send that upstream may have accepted', () => {
  beforeEach(() => {
    failPosts({ kind: 'resetAfter' });
  });

  it('is found in a contact whose messages were never read', async () => {
    createContact(NUMBER);
    await relayUntil(await accept(), 'sent');
    expect(posts()).toBe(1);
  });

  it('is found in a contact that had no messages at the last read', async () => {
    createContact(NUMBER);
    await relay.harness.sweep();
    await relayUntil(await accept(), 'sent');
    expect(posts()).toBe(1);
  });

  it('is found after Redis lost its last writes', async () => {
    createContact(NUMBER);
    const id = await accept();
    const before = await memory();
    await eventually('the send was posted', async () => {
      await runner().run(ACCOUNT, NUMBER);
      return posts() === 1;
    });
    await before.restore(relay.redis);
    await relayUntil(id, 'sent', runner({ postLeaseMarginMs: 500 }));
    expect(posts()).toBe(1);
  });

  it('is not posted again while the messages of a contact cannot be read', async () => {
    failReads(createContact(NUMBER), 500);
    const id = await accept();
    await untilIncomplete(id);
    expect(posts()).toBe(1);
    relay.harness.control('faults/clear');
    await relayUntil(id, 'sent');
    expect(posts()).toBe(1);
  });

  it('is logged once, with the contact whose messages must be read before a second POST', async () => {
    const warn = jest.spyOn(relay.harness.logger, 'warn');
    const contactId = createContact(NUMBER);
    failReads(contactId, 500);
    const id = await accept();
    await untilIncomplete(id);
    const { lookups: before = [] } = await find(id);
    await eventually('another look-up was incomplete', async () => {
      await runner().run(ACCOUNT, NUMBER);
      return ((await find(id)).lookups ?? []).length > before.length;
    });
    const logged = warn.mock.calls.filter(([fields]) => 'contactIds' in Object(fields));
    expect(logged).toEqual([
      [{ account: ACCOUNT, contactIds: [contactId] }, expect.stringContaining('could not read contacts')],
    ]);
  });

  it('is not posted again while upstream returns neither contacts nor messages', async () => {
    createContact(NUMBER);
    await relay.harness.list.poll(ACCOUNT);
    const id = await accept();
    relay.harness.control('settings', { outage: true });
    await untilIncomplete(id);
    expect(posts()).toBe(1);
    relay.harness.control('settings', { outage: false });
    await relayUntil(id, 'sent');
    expect(posts()).toBe(1);
  });

  it('is found even if all contacts contain the same other phone number', async () => {
    for (let n = 0; n < 5; n += 1)
      relay.harness.createContact(`+1415555${1_000 + n}`, { name: 'Somebody', line: '+15550000000' });
    relay.harness.createContact(NUMBER, { name: 'Somebody', line: '+15550000000' });
    await relayUntil(await accept(), 'sent');
    expect(posts()).toBe(1);
  });

  it('is found if its message appears after another send caused a read of the contact', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 600 });
    createContact(NUMBER);
    const lane = runner({ confirmMs: 1_000 });
    const id = await accept();
    await lane.run(ACCOUNT, NUMBER);
    failPosts({ kind: 'resetBefore' });
    const other = (
      await relay.intake.accept(ACCOUNT, { phoneNumber: '+14155559999', type: 'text', message: 'Other' })
    ).id;
    const quick = runner({ confirmMs: 100 });
    await eventually('the other send was posted again', async () => {
      await quick.run(ACCOUNT, '+14155559999');
      return (await find(other)).status === 'accepted';
    });
    await relayUntil(id, 'sent', lane);
    expect(relay.texts().filter((text) => text === 'Hi')).toEqual(['Hi']);
  });
});

describe('while contacts do not contain their phone number, a send that upstream did not accept', () => {
  beforeEach(() => {
    failPosts({ kind: 'resetBefore' });
  });

  it('is posted again after contacts without messages were read', async () => {
    for (let n = 0; n < 5; n += 1) createContact(`+1415555${1_000 + n}`);
    await relayUntil(await accept(), 'accepted');
    expect(posts()).toBe(2);
    expect(relay.harness.countRequests(/^GET .*messages/)).toBeGreaterThanOrEqual(5);
  });

  it('waits up to ten minutes longer for a contact that cannot be read, and is then posted without it', async () => {
    failReads(createContact('+14155551000'), 500);
    const id = await accept();
    const periodMs = postRequestLeaseMs(relay.settings);
    let lookingMs = periodMs + 600_000 - 10_000;
    const { sends } = relay.harness;
    const read = sends.laneHead.bind(sends);
    // Reads the lane as if the look-ups of its first send had begun that long ago.
    jest.spyOn(sends, 'laneHead').mockImplementation(async (account, lane) => {
      const head = await read(account, lane);
      if (head?.record.state.phase !== 'looking') return head;
      const state = { ...head.record.state, lookSince: head.now - lookingMs };
      return { ...head, record: { ...head.record, state } };
    });
    const lane = runner({ maxAgeMs: 2 * lookingMs, lookupWaitsMs: [200] });
    await eventually('three look-ups were incomplete', async () => {
      await lane.run(ACCOUNT, NUMBER);
      const { lookups = [] } = await find(id);
      return lookups.filter(({ outcome }) => outcome === 'incomplete').length >= 3;
    });
    expect(posts()).toBe(1);
    lookingMs = periodMs + 600_000 + 1;
    await relayUntil(id, 'accepted', lane);
    expect(posts()).toBe(2);
  });

  it('is posted again without reads of contacts if more than twenty contacts have no messages', async () => {
    for (let n = 0; n < 21; n += 1) createContact(`+1415555${1_000 + n}`);
    await relayUntil(await accept(), 'accepted');
    expect(posts()).toBe(2);
    expect(relay.harness.countRequests(/^GET .*messages/)).toBe(0);
  });

  it('is posted again although upstream answers 404 for a listed contact', async () => {
    failReads(createContact('+14155551000'), 404);
    await relayUntil(await accept(), 'accepted');
    expect(posts()).toBe(2);
  });

  it('is posted again without another read of contacts with known messages', async () => {
    relay.harness.createMessages(createContact('+14155551000'), { count: 2 });
    await relay.harness.sweep();
    const before = relay.harness.countRequests(/^GET .*messages/);
    await relayUntil(await accept(), 'accepted');
    expect(posts()).toBe(2);
    expect(relay.harness.countRequests(/^GET .*messages/)).toBe(before);
  });
});
