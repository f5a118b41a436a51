import { describe, expect, it } from '@jest/globals';
import { accountKeys } from '#platform';
import { RedisRelayDueTimeReader } from '#relay';
import { eventually } from '../../support/eventually.js';
import { setBackClock } from '../../support/set-back-clock.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

// On a busy machine a look-up must not time out: the confirmation period counts down only while look-ups succeed.
const relay = new WithLane({}, 60_000);
const { rounds, accept, find, relayUntil, sendEvents } = relay;

describe('an accepted send whose message does not appear', () => {
  it('causes send.unconfirmed once after the confirmation period, and is still bound if the message appears later', async () => {
    relay.harness.control('settings', { clock: 'manual', sendVisibleDelayMs: 1_000 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const confirming = rounds({ confirmMs: 1_200 });
    await eventually('the event was emitted', async () => {
      await confirming.confirm(ACCOUNT);
      return (await sendEvents()).includes('send.unconfirmed');
    });
    expect((await find(id)).status).toBe('accepted');
    for (let i = 0; i < 5; i += 1) await confirming.confirm(ACCOUNT);
    relay.harness.control('advance', { ms: 1_000 });
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await sendEvents()).toEqual(['send.accepted', 'send.unconfirmed', 'send.sent']);
  });

  it('causes send.unconfirmed only after the whole confirmation period if look-ups succeed, even if SEND_MAX_AGE_SECONDS is shorter', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const confirmMs = 2_000;
    const id = await accept();
    await relayUntil(id, 'accepted');
    const confirming = rounds({ confirmMs, maxAgeMs: 1 });
    await eventually('the event was emitted', async () => {
      await confirming.confirm(ACCOUNT);
      return (await sendEvents()).includes('send.unconfirmed');
    });
    const { begunAt = 0, updatedAt = 0 } = (await relay.harness.sends.find(ACCOUNT, id))?.state ?? {};
    expect(updatedAt - begunAt).toBeGreaterThanOrEqual(confirmMs);
  });

  it("causes send.unconfirmed even if Redis' clock is set back after the POST", async () => {
    const { harness } = relay;
    harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const retention = { maxAgeMs: 60_000, maxCount: 1_000 };
    const survey = new RedisRelayDueTimeReader(harness.redis, harness.prefix, retention, 60_000);
    await survey.read(ACCOUNT);
    await setBackClock(harness.redis, harness.prefix, 3_600_000);
    const send = accountKeys(harness.prefix, ACCOUNT)('send', id);
    const state = JSON.parse((await harness.redis.hget(send, 'state')) ?? '') as { begunAt: number };
    await harness.redis.hset(send, 'state', JSON.stringify({ ...state, begunAt: state.begunAt + 3_600_000 }));
    expect((await survey.read(ACCOUNT)).confirmsInMs).toBeLessThanOrEqual(30_000);
    const confirming = rounds({ confirmMs: 100 });
    await eventually('the event was emitted', async () => {
      // The tests do not wait for the next check, which is up to 30 seconds away.
      await harness.redis.zadd(accountKeys(harness.prefix, ACCOUNT)('confirms'), 'XX', 0, id);
      await confirming.confirm(ACCOUNT);
      return (await sendEvents()).includes('send.unconfirmed');
    });
  });

  it('causes an early poll of the recipient’s contact, even if upstream created that contact for the send', async () => {
    const id = await accept();
    await relayUntil(id, 'accepted');
    // The recipient is not a known contact yet, so one early read of the contact list is requested.
    const takeRequest = (): Promise<boolean> => relay.harness.store.consumeContactListPollRequest(ACCOUNT);
    await eventually('a read of the contact list is requested', takeRequest);
    expect(await takeRequest()).toBe(false);
    await relay.harness.list.poll(ACCOUNT);
    const [contactId] = (await relay.harness.store.contactListSnapshot(ACCOUNT)).contacts.keys();
    expect(await relay.harness.ownerOf(NUMBER)).toBe(contactId);
    await eventually('the contact is due', async () =>
      (await relay.harness.takeDue()).includes(contactId ?? ''),
    );
    await relay.harness.polls.poll(ACCOUNT, contactId ?? '');
    expect((await find(id)).status).toBe('sent');
  });
});
