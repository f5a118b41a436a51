import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, rounds, accept, find, relayUntil, failPosts, texts, posts, sendEvents, memory } = relay;

/** Reads the recipient as a contact, then deletes the contact upstream. The gateway still knows the contact. */
async function deletedContact(): Promise<void> {
  const contactId = relay.harness.createContact(NUMBER);
  relay.harness.createMessages(contactId, { count: 3 });
  await relay.harness.sweep();
  relay.harness.control('contacts/delete', { contactId });
}

describe('a send whose recipient’s contact was deleted upstream', () => {
  it('becomes unknown when the confirmation period ends, and the lane continues', async () => {
    await deletedContact();
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const next = await accept({ message: 'next' });
    await relayUntil(id, 'unknown');
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['next']);
    expect(posts()).toBe(2);
  });

  it('is found among the messages of the new contact that upstream creates', async () => {
    await deletedContact();
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
    expect(posts()).toBe(1);
  });

  it('is looked up and then posted after Redis lost its last writes', async () => {
    await deletedContact();
    const id = await accept();
    await (await memory()).restore(relay.redis);
    await relayUntil(id, 'accepted', runner({ confirmMs: 300, postLeaseMarginMs: 500 }));
    expect(texts()).toEqual(['Hi']);
  });

  it('is not posted again if Redis lost its last writes and upstream then returns neither contacts nor messages', async () => {
    relay.harness.createMessages(relay.harness.createContact(NUMBER), { count: 3 });
    await relay.harness.sweep();
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    relay.harness.control('settings', { outage: true });
    const lane = runner({ confirmMs: 300, postLeaseMarginMs: 500, lookupWaitsMs: [200] });
    await eventually('three look-ups were incomplete', async () => {
      await lane.run(ACCOUNT, NUMBER);
      const { lookups = [] } = await find(id);
      return lookups.filter(({ outcome }) => outcome === 'incomplete').length >= 3;
    });
    expect(posts()).toBe(1);
    relay.harness.control('settings', { outage: false });
    await relayUntil(id, 'sent', lane);
    expect(posts()).toBe(1);
  });

  it('is still looked up after its confirmation period while so many contacts are missing that an outage of upstream is likely', async () => {
    relay.harness.control('contacts', { count: 15 });
    await deletedContact();
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const { contacts } = await relay.harness.store.contactListSnapshot(ACCOUNT);
    relay.harness.control('contacts/delete', { contactIds: [...contacts.keys()].slice(0, 15) });
    const lane = runner();
    const before = relay.harness.countRequests(/messages/);
    // The fourth read follows long after the end of the confirmation period.
    await eventually('the messages were read four times', async () => {
      await lane.run(ACCOUNT, NUMBER);
      return relay.harness.countRequests(/messages/) >= before + 4;
    });
    expect((await find(id)).status).toBe('relaying');
  });
});

describe('a send whose look-ups all fail', () => {
  it('becomes `unknown` at the age SEND_MAX_AGE_SECONDS; its reason names SEND_MAX_AGE_SECONDS and the error, and the lane continues', async () => {
    const contactId = relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    relay.harness.control('faults', {
      match: { method: 'GET', contactId },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    const send = await relayUntil(id, 'unknown', runner({ maxAgeMs: 1_500 }));
    expect(send.reason).toMatch(/SEND_MAX_AGE_SECONDS.*500/);
    const next = await accept({ message: 'next' });
    await relayUntil(next, 'accepted');
    expect(await sendEvents()).toEqual(['send.unknown', 'send.accepted']);
  });

  it('is reported as unconfirmed at the age SEND_MAX_AGE_SECONDS if upstream accepted the send', async () => {
    const contactId = relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    const id = await accept();
    await relayUntil(id, 'accepted');
    relay.harness.control('faults', {
      match: { method: 'GET', contactId },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    const confirming = rounds({ confirmMs: 600, maxAgeMs: 1_500 });
    await eventually('the event was emitted', async () => {
      await confirming.confirm(ACCOUNT);
      return (await sendEvents()).includes('send.unconfirmed');
    });
  });
});

describe('a send to a phone number that several contacts have', () => {
  it('is looked up among the messages of all these contacts', async () => {
    const mine = relay.harness.createContact(NUMBER);
    relay.harness.createMessages(mine, { count: 2 });
    await relay.harness.sweep();
    relay.harness.createContact('+15550001111', { referredBy: NUMBER });
    await relay.harness.sweep();
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
  });

  it('is also looked up among the messages of a contact that appeared after the POST', async () => {
    const mine = relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    // Upstream moves the number's messages to another contact, and keeps the old contact empty.
    relay.harness.control('contacts/renumber-id', { contactId: mine, newId: 'another' });
    relay.harness.createContact('+15550001111', { id: mine, formerly: NUMBER });
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'sent');
    expect(posts()).toBe(1);
  });
});
