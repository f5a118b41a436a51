import { describe, expect, it, jest } from '@jest/globals';
import { type RelayStore, type Sender } from '#relay';
import { UpstreamTimeoutError } from '#upstream';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT, UPSTREAM_TIMEOUT_MS } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, accept, find, relayUntil, memory, posts, sendEvents } = relay;

describe('a POST whose record Redis loses while the POST is under way', () => {
  /** Posts, makes Redis lose every write since `before`, and runs `meanwhile` before the answer arrives. */
  function postThenLose(
    before: Awaited<ReturnType<typeof memory>>,
    meanwhile: () => Promise<unknown>,
  ): Sender['post'] {
    return async (...call) => {
      await relay.post(...call);
      await before.restore(relay.redis);
      await meanwhile();
    };
  }

  it.each([
    ['no other process runs during the POST', () => Promise.resolve()],
    ['another process looks up the send during the POST', () => runner().run(ACCOUNT, NUMBER)],
  ])('is not repeated if upstream accepts the POST (%s)', async (_, then) => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    const post = postThenLose(await memory(), then);
    await runner({ post }).run(ACCOUNT, NUMBER);
    await relayUntil(id, 'accepted');
    expect(posts()).toBe(1);
    expect(await find(id)).toMatchObject({ attempts: [{ outcome: 'accepted' }] });
    expect(await sendEvents()).toEqual(['send.accepted']);
  });

  describe('for a scheduled send whose change to the status `queued` is lost too,', () => {
    /** Posts a scheduled send, and makes Redis forget that it was queued before the answer arrives. */
    async function postScheduled(): Promise<string> {
      const id = await accept({ sendAt: Date.now() + 1_500 });
      const before = await memory();
      await eventually('the send was queued', async () => {
        await relay.rounds().promote(ACCOUNT);
        return (await find(id)).status === 'queued';
      });
      const post: Sender['post'] = async (...call) => {
        try {
          await relay.post(...call);
        } finally {
          await before.restore(relay.redis);
        }
      };
      await runner({ post }).run(ACCOUNT, NUMBER);
      return id;
    }

    const relayUntilAccepted = (id: string): Promise<unknown> =>
      eventually('the send is accepted', async () => {
        await relay.rounds().promote(ACCOUNT);
        await runner().run(ACCOUNT, NUMBER);
        return (await find(id)).status === 'accepted';
      });

    it('is not repeated if upstream accepts the POST', async () => {
      relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
      const id = await postScheduled();
      await relayUntilAccepted(id);
      expect(posts()).toBe(1);
      expect(await find(id)).toMatchObject({ attempts: [{ outcome: 'accepted' }] });
    });

    it('is repeated if upstream refuses the POST', async () => {
      relay.failPosts({ kind: 'status', status: 429 });
      const id = await postScheduled();
      await relayUntilAccepted(id);
      expect(posts()).toBe(2);
    });
  });

  it('is not repeated if upstream does not answer: the send becomes unknown', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    const post = postThenLose(await memory(), () =>
      Promise.reject(new UpstreamTimeoutError(UPSTREAM_TIMEOUT_MS)),
    );
    await runner({ post }).run(ACCOUNT, NUMBER);
    await eventually('the send has a final status', async () => {
      await runner().run(ACCOUNT, NUMBER);
      return ['accepted', 'unknown'].includes((await find(id)).status);
    });
    expect(posts()).toBe(1);
    expect((await find(id)).status).toBe('unknown');
  });
});

it('a send is found after Redis lost the record of its POST, even if the clock of the gateway is far ahead', async () => {
  const ahead = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 45_000);
  const id = await accept();
  ahead.mockRestore();
  const before = await memory();
  await relayUntil(id, 'accepted');
  await before.restore(relay.redis);
  await eventually('the send has a final status', async () => {
    await runner().run(ACCOUNT, NUMBER);
    return ['accepted', 'sent'].includes((await find(id)).status);
  });
  expect(posts()).toBe(1);
  expect((await find(id)).status).toBe('sent');
});

it('the next send of a lane is not delayed if the failed first send is cancelled just before its retry is scheduled', async () => {
  relay.harness.control('faults', {
    match: { method: 'POST' },
    fault: { kind: 'status', status: 429, retryAfter: 600 },
    times: 1,
  });
  const id = await accept();
  const next = await accept({ message: 'next' });
  const store = Object.create(relay.harness.sends) as RelayStore;
  store.postponeLane = async (...call) => {
    if ((await find(id)).status === 'queued') await relay.intake.cancel(ACCOUNT, id);
    return relay.harness.sends.postponeLane(...call);
  };
  await runner({ store }).run(ACCOUNT, NUMBER);
  await eventually('a worker of the due lanes relays the next send', async () => {
    for (const lane of await relay.harness.sends.dueLanes(ACCOUNT, 10)) await runner().run(ACCOUNT, lane);
    return (await find(next)).status === 'accepted';
  });
});

it('a send that upstream may have accepted becomes unknown, not expired, at its maximum age', async () => {
  relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
  relay.harness.control('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
  const id = await accept();
  await relayUntil(id, 'relaying');
  const late = runner({ onUnknown: 'resend', maxAgeMs: 0 });
  await eventually('the send has a final status', async () => {
    await late.run(ACCOUNT, NUMBER);
    return ['expired', 'unknown'].includes((await find(id)).status);
  });
  expect(await find(id)).toMatchObject({
    status: 'unknown',
    reason: expect.stringContaining('SEND_MAX_AGE'),
  });
  expect(await sendEvents()).toEqual(['send.unknown']);
  expect(posts()).toBe(1);
});

it('a send is queued again and posted once if the worker’s machine is suspended right before the POST', async () => {
  const id = await accept();
  const { now } = Date;
  const post: Sender['post'] = async (...call) => {
    // The monotonic clock does not advance during the suspension.
    const suspended = jest.spyOn(Date, 'now').mockImplementation(() => now.call(Date) + 60_000);
    try {
      await relay.post(...call);
    } finally {
      suspended.mockRestore();
    }
  };
  const lane = runner({ post });
  const once = lane.run(ACCOUNT, NUMBER);
  lane.stop();
  await once;
  expect(posts()).toBe(0);
  expect((await find(id)).attempts).toEqual([]);
  await relayUntil(id, 'accepted');
  expect(posts()).toBe(1);
});

it('a send is read again before its POST if the worker’s machine was suspended after the send was read', async () => {
  const id = await accept();
  const { now } = Date;
  const store = Object.create(relay.harness.sends) as RelayStore;
  store.laneHead = async (...query) => {
    const head = await relay.harness.sends.laneHead(...query);
    jest.spyOn(Date, 'now').mockImplementation(() => now.call(Date) + 60_000);
    return head;
  };
  const lane = runner({ store });
  const once = lane.run(ACCOUNT, NUMBER);
  lane.stop();
  try {
    await once;
  } finally {
    jest.restoreAllMocks();
  }
  expect(posts()).toBe(0);
  expect((await find(id)).status).toBe('queued');
  await relayUntil(id, 'accepted');
  expect(posts()).toBe(1);
});
