import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { A } from '../feed/house.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, rounds, accept, find, relayUntil, failPosts, texts, posts, sendEvents, memory } = relay;

/** The recipient as a contact that was read, then deleted upstream, and still known here. */
async function deletedContact(): Promise<void> {
  const contactId = relay.harness.contact(NUMBER);
  relay.harness.messages(contactId, { count: 3 });
  await relay.harness.sweep();
  relay.harness.control('contacts/delete', { contactId });
}

describe('a send whose recipient’s contact was deleted upstream', () => {
  it('is unknown when the time is over, and the lane goes on', async () => {
    await deletedContact();
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const next = await accept({ message: 'next' });
    await relayUntil(id, 'unknown');
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['next']);
    expect(posts()).toBe(2);
  });

  it('is found at the contact that upstream makes anew', async () => {
    await deletedContact();
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
    expect(posts()).toBe(1);
  });

  it('and which may have been posted before Redis lost its last seconds is looked for, and posted', async () => {
    await deletedContact();
    const id = await accept();
    await (await memory()).loseAllSince(relay.redis);
    await relayUntil(id, 'accepted', runner({ confirmMs: 300 }));
    expect(texts()).toEqual(['Hi']);
  });

  it('is not taken for gone by a list that misses too many to be believed', async () => {
    relay.harness.control('contacts', { count: 15 });
    await deletedContact();
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const { contacts } = await relay.harness.store.knownContacts(A);
    relay.harness.control('contacts/delete', { contactIds: [...contacts.keys()].slice(0, 15) });
    const lane = runner();
    const before = relay.harness.requests(/messages/);
    // The last of them comes long after the time that a send is looked for.
    await eventually('search_continued', async () => {
      await lane.run(A, NUMBER);
      return relay.harness.requests(/messages/) >= before + 4;
    });
    expect((await find(id)).status).toBe('relaying');
  });
});

describe('a send that can be looked for at no time', () => {
  it('is unknown once it could have been relayed no more, says why, and the lane goes on', async () => {
    const contactId = relay.harness.contact(NUMBER);
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

  it('is told as unconfirmed by then if upstream took it', async () => {
    const contactId = relay.harness.contact(NUMBER);
    await relay.harness.sweep();
    const id = await accept();
    await relayUntil(id, 'accepted');
    relay.harness.control('faults', {
      match: { method: 'GET', contactId },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    const confirming = rounds({ confirmMs: 600, maxAgeMs: 1_500 });
    await eventually('told', async () => {
      await confirming.confirm(A);
      return (await sendEvents()).includes('send.unconfirmed');
    });
  });
});

describe('a number that several contacts hold', () => {
  it('is looked for at all of them, whichever was seen last', async () => {
    const mine = relay.harness.contact(NUMBER);
    relay.harness.messages(mine, { count: 2 });
    await relay.harness.sweep();
    relay.harness.contact('+15550001111', { referredBy: NUMBER });
    await relay.harness.sweep();
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
  });

  it('is looked for also at one that appeared since, before it is given up', async () => {
    const mine = relay.harness.contact(NUMBER);
    await relay.harness.sweep();
    // Upstream moves what it has of the number to another contact, and keeps the old one, empty.
    relay.harness.control('contacts/renumber-id', { contactId: mine, newId: 'another' });
    relay.harness.contact('+15550001111', { id: mine, formerly: NUMBER });
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'sent');
    expect(posts()).toBe(1);
  });
});
