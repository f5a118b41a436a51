import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { A } from '../feed/house.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { rounds, runner, accept, find, relayUntil, sendEvents } = relay;
const SENDS = 15;

/** Sends to one recipient that upstream took, and whose messages it does not show. */
async function accepted(): Promise<string[]> {
  relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
  relay.harness.contact(NUMBER);
  await relay.harness.sweep();
  const ids: string[] = [];
  for (let n = 0; n < SENDS; n += 1) ids.push(await accept({ message: `n${String(n)}` }));
  for (const id of ids) await relayUntil(id, 'accepted');
  return ids;
}

const looks = (): number => relay.harness.requests(/messages/);

describe('sends to one recipient that upstream took', () => {
  it('are looked for together, and told of each', async () => {
    await accepted();
    const before = looks();
    const confirming = rounds({ confirmMs: 1_200 });
    await eventually('all told', async () => {
      await confirming.confirm(A);
      return (await sendEvents()).filter((type) => type === 'send.unconfirmed').length === SENDS;
    });
    // By their age of 0.3 s and on: each alone would have been looked for two times at least.
    expect(looks() - before).toBeLessThan(SENDS);
  });

  it('are looked for less and less often while looks fail, and found once they do not', async () => {
    const ids = await accepted();
    relay.harness.control('faults', {
      match: { method: 'GET', path: '/messages' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    const before = looks();
    const confirming = rounds({ confirmMs: 400 });
    const began = performance.now();
    await eventually('four looks', async () => {
      await confirming.confirm(A);
      return looks() - before >= 4;
    });
    // The waits double from the age of the sends on.
    expect(performance.now() - began).toBeGreaterThan(1_000);
    expect((await find(ids[0] ?? '')).status).toBe('accepted');
    expect(looks() - before).toBe(4);
  });

  it('are looked for after new sends, not before them', async () => {
    await accepted();
    const purposes: string[] = [];
    const { source } = relay.harness;
    const listMessages = source.listMessages.bind(source);
    source.listMessages = (account, id, page, limit, purpose) => {
      purposes.push(typeof purpose === 'string' ? purpose : purpose.kind);
      return listMessages(account, id, page, limit, purpose);
    };
    const confirming = rounds({ confirmMs: 400 });
    await eventually('looked for', async () => {
      await confirming.confirm(A);
      return purposes.length > 0;
    });
    expect(new Set(purposes)).toEqual(new Set(['confirmation']));
    relay.failPosts({ kind: 'resetBefore' });
    purposes.length = 0;
    await accept({ message: 'lost' });
    const lane = runner();
    await eventually('looked for', async () => {
      await lane.run(A, NUMBER);
      return purposes.length > 0;
    });
    expect(new Set(purposes)).toEqual(new Set(['lookup']));
  });
});
