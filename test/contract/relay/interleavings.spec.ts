import { describe, expect, it, jest } from '@jest/globals';
import { type RelayStore, type Sender } from '#relay';
import { UpstreamTimeoutError } from '#upstream';
import { eventually } from '../../support/eventually.js';
import { A, UPSTREAM_TIMEOUT_MS } from '../feed/house.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, accept, find, relayUntil, memory, posts, sendEvents } = relay;

describe('a POST that Redis forgets while it is under way', () => {
  /** Posts, then Redis loses all since `before`, then what else happens before the answer. */
  function forgetting(
    before: Awaited<ReturnType<typeof memory>>,
    meanwhile: () => Promise<unknown>,
  ): Sender['post'] {
    return async (...call) => {
      await relay.post(...call);
      await before.loseAllSince(relay.redis);
      await meanwhile();
    };
  }

  it.each([
    ['is not noticed yet', () => Promise.resolve()],
    ['is looked for by others', () => runner().run(A, NUMBER)],
  ])('is not made again when whoever made it hears that it was taken, where the loss %s', async (_, then) => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    const post = forgetting(await memory(), then);
    await runner({ post }).run(A, NUMBER);
    await relayUntil(id, 'accepted');
    expect(posts()).toBe(1);
    expect(await find(id)).toMatchObject({ attempts: [{ outcome: 'accepted' }] });
    expect(await sendEvents()).toEqual(['send.accepted']);
  });

  it('is not made again when whoever made it hears nothing: it ends as one that nobody knows of', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    const post = forgetting(await memory(), () =>
      Promise.reject(new UpstreamTimeoutError(UPSTREAM_TIMEOUT_MS)),
    );
    await runner({ post }).run(A, NUMBER);
    await eventually('it has an end', async () => {
      await runner().run(A, NUMBER);
      return ['accepted', 'unknown'].includes((await find(id)).status);
    });
    expect(posts()).toBe(1);
    expect((await find(id)).status).toBe('unknown');
  });
});

it('a POST that Redis forgot is found although the gateway’s clock is far ahead', async () => {
  const ahead = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 45_000);
  const id = await accept();
  ahead.mockRestore();
  const before = await memory();
  await relayUntil(id, 'accepted');
  await before.loseAllSince(relay.redis);
  await eventually('it has an end', async () => {
    await runner().run(A, NUMBER);
    return ['accepted', 'sent'].includes((await find(id)).status);
  });
  expect(posts()).toBe(1);
  expect((await find(id)).status).toBe('sent');
});

it('a wait that was for one send does not hold the next one when the first has left the lane meanwhile', async () => {
  relay.harness.control('faults', {
    match: { method: 'POST' },
    fault: { kind: 'status', status: 429, retryAfter: 600 },
    times: 1,
  });
  const id = await accept();
  const next = await accept({ message: 'next' });
  const store = Object.create(relay.harness.sends) as RelayStore;
  store.postpone = async (...call) => {
    if ((await find(id)).status === 'queued') await relay.intake.cancel(A, id);
    return relay.harness.sends.postpone(...call);
  };
  await runner({ store }).run(A, NUMBER);
  await eventually('the next one is relayed by those who look at what is due', async () => {
    for (const lane of await relay.harness.sends.dueLanes(A, 10)) await runner().run(A, lane);
    return (await find(next)).status === 'accepted';
  });
});

it('a send that may have been taken once is not told to be expired when the second POST comes too late', async () => {
  relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
  relay.harness.control('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
  const id = await accept();
  await relayUntil(id, 'relaying');
  const late = runner({ onUnknown: 'resend', maxAgeMs: 0 });
  await eventually('it has an end', async () => {
    await late.run(A, NUMBER);
    return ['expired', 'unknown'].includes((await find(id)).status);
  });
  expect(await find(id)).toMatchObject({
    status: 'unknown',
    reason: expect.stringContaining('SEND_MAX_AGE'),
  });
  expect(await sendEvents()).toEqual(['send.unknown']);
  expect(posts()).toBe(1);
});

it('a send whose machine is suspended right before its POST is put back, and posted once', async () => {
  const id = await accept();
  const { now } = Date;
  const post: Sender['post'] = async (...call) => {
    // The steady clock stood still meanwhile.
    const suspended = jest.spyOn(Date, 'now').mockImplementation(() => now.call(Date) + 60_000);
    try {
      await relay.post(...call);
    } finally {
      suspended.mockRestore();
    }
  };
  const lane = runner({ post });
  const once = lane.run(A, NUMBER);
  lane.stop();
  await once;
  expect(posts()).toBe(0);
  expect((await find(id)).attempts).toEqual([]);
  await relayUntil(id, 'accepted');
  expect(posts()).toBe(1);
});
