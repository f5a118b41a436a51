import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { rounds, runner, accept, find, relayUntil, sendEvents } = relay;
const SENDS = 15;

/** Relays sends to one recipient that upstream accepts, but whose messages upstream does not show. */
async function accepted(): Promise<string[]> {
  relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
  relay.harness.createContact(NUMBER);
  await relay.harness.sweep();
  const ids: string[] = [];
  for (let n = 0; n < SENDS; n += 1) ids.push(await accept({ message: `n${String(n)}` }));
  for (const id of ids) await relayUntil(id, 'accepted');
  return ids;
}

const lookUps = (): number => relay.harness.countRequests(/messages/);

describe('accepted sends to one recipient', () => {
  it('share look-ups, and send.unconfirmed is emitted for each send', async () => {
    await accepted();
    const before = lookUps();
    const confirming = rounds({ confirmMs: 1_200 });
    await eventually('every event was emitted', async () => {
      await confirming.confirm(ACCOUNT);
      return (await sendEvents()).filter((type) => type === 'send.unconfirmed').length === SENDS;
    });
    // The checks start at an age of 0.3 s: separate look-ups would take at least two per send.
    expect(lookUps() - before).toBeLessThan(SENDS);
  });

  it('are looked up at growing intervals while look-ups fail', async () => {
    const began = performance.now();
    const ids = await accepted();
    relay.harness.control('faults', {
      match: { method: 'GET', path: '/messages' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    const before = lookUps();
    const confirming = rounds({ confirmMs: 400 });
    await eventually('four look-ups were made', async () => {
      await confirming.confirm(ACCOUNT);
      return lookUps() - before >= 4;
    });
    // The waits double, starting at the age of the sends.
    expect(performance.now() - began).toBeGreaterThan(1_000);
    expect((await find(ids[0] ?? '')).status).toBe('accepted');
    expect(lookUps() - before).toBe(4);
  });

  it('are looked up with a lower priority than new sends', async () => {
    await accepted();
    const purposes: string[] = [];
    const { source } = relay.harness;
    const listMessages = source.listMessages.bind(source);
    source.listMessages = (account, id, page, limit, purpose) => {
      purposes.push(typeof purpose === 'string' ? purpose : purpose.kind);
      return listMessages(account, id, page, limit, purpose);
    };
    const confirming = rounds({ confirmMs: 400 });
    await eventually('a look-up was made', async () => {
      await confirming.confirm(ACCOUNT);
      return purposes.length > 0;
    });
    expect(new Set(purposes)).toEqual(new Set(['confirmation']));
    relay.failPosts({ kind: 'resetBefore' });
    purposes.length = 0;
    await accept({ message: 'lost' });
    const lane = runner();
    await eventually('a look-up was made', async () => {
      await lane.run(ACCOUNT, NUMBER);
      return purposes.length > 0;
    });
    expect(new Set(purposes)).toEqual(new Set(['lookup']));
  });
});
