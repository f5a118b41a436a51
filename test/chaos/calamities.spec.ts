import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { startTestPair, type TestPair } from '../support/redis-pair.js';
import { Calamities } from './calamities.js';
import { RelayTrial } from './relay-trial.js';
import { type Manners, WebhookTrial } from './webhook-trial.js';

const SENDS = { sends: 2_000, recipients: 300, everyMs: 1_200 };
const SENDS_SETTLED_WITHIN_MS = 300_000;

const EVENTS = 5_000;
const CHUNK_EVERY_MS = 3_000;
const EVENTS_SETTLED_WITHIN_MS = 600_000;
const MAX_DOUBLED = 0.01;
const MANNERS: Manners[] = ['ordered', 'healthy', 'healthy', 'healthy', 'hangs', 'failsHalf', 'dead'];
/** Of the trial of webhooks, where an hour takes a second: an endpoint is dead for so long. */
const WEEK_MS = 168_000;
const VIRTUAL = {
  WEBHOOK_RETRY_SCHEDULE_SECONDS: '0,0,0,0,0,1,1,2,4,8,12',
  WEBHOOK_DISABLE_AFTER_HOURS: String(120 / 3_600),
};

let trial: RelayTrial<TestPair> | WebhookTrial<TestPair> | undefined;
let calamities: Calamities | undefined;

afterEach(async () => {
  await calamities?.[Symbol.asyncDispose]();
  await trial?.[Symbol.asyncDispose]();
  calamities = undefined;
  trial = undefined;
}, 120_000);

function print(title: string, counts: object): void {
  process.stdout.write(`${title}: ${JSON.stringify(counts, undefined, 1)}\n`);
}

const secondsSince = (began: number): number => Math.round((performance.now() - began) / 1_000);

describe('while Redis fails over and back and is full, a clock is 20 minutes ahead, and ten workers are suspended for a minute each', () => {
  it('of 2,000 sends none is lost, none doubled, none out of order, and each ends', async () => {
    const running = await RelayTrial.start(await startTestPair(), SENDS);
    trial = running;
    calamities = await Calamities.start(running.product);
    const began = performance.now();
    await Promise.all([running.send(), calamities.befall()]);
    const shown = await running.settle(SENDS_SETTLED_WITHIN_MS);
    const verdict = await running.judge(shown);
    const refused = running.unanswered.size;
    print('Sends through calamities', { seconds: secondsSince(began), refused, ...verdict.counts });
    expect(verdict.faults.slice(0, 20)).toEqual([]);
    // The others were refused while Redis was full, or had no master.
    expect(running.asked.length).toBeGreaterThan(SENDS.sends / 2);
    expect(refused).toBeGreaterThan(0);
    expect(verdict.counts.unknown).toBeLessThanOrEqual(verdict.counts.ambiguousFaults);
  }, 900_000);

  it('of 5,000 events none is lost at a healthy webhook or, once it is back, at one that was dead for a week, few come twice, and all in order where that was asked for', async () => {
    const running = await WebhookTrial.startOn(await startTestPair(), MANNERS, VIRTUAL);
    trial = running;
    calamities = await Calamities.start(running.product);
    const began = performance.now();
    const since = new Date(Date.now() - 60_000).toISOString();
    await Promise.all([running.appendSlowly(EVENTS, CHUNK_EVERY_MS), calamities.befall(), pause(WEEK_MS)]);
    await running.settle(EVENTS_SETTLED_WITHIN_MS);
    const { healthy, subscribers, events } = running;
    const dead = subscribers.find(({ manners }) => manners === 'dead');
    if (dead === undefined) throw new Error('nobody was dead');
    const disabled = await eventually(
      'the dead one is disabled',
      async () => {
        const webhook = await running.product.json<{ enabled: boolean }>('GET', `/v1/webhooks/${dead.id}`);
        return !webhook.enabled;
      },
      WEEK_MS,
    );
    dead.revive();
    await running.product.json('PATCH', `/v1/webhooks/${dead.id}`, { enabled: true });
    const { count } = await running.product.json<{ count: number }>(
      'POST',
      `/v1/webhooks/${dead.id}/replay`,
      { since, only: 'all' },
    );
    await eventually(
      'the dead one has every event',
      () => dead.taken.size >= events,
      EVENTS_SETTLED_WITHIN_MS,
    );
    const doubled = healthy.reduce((sum, one) => sum + one.doubled, 0);
    const counts = { events, disabled, replayed: count, doubled, share: doubled / (healthy.length * events) };
    print('Webhooks through calamities', { seconds: secondsSince(began), ...counts });
    expect(events).toBeGreaterThan(EVENTS / 2);
    expect(subscribers.map(({ taken }) => taken.size).slice(0, healthy.length)).toEqual(
      healthy.map(() => events),
    );
    expect(subscribers.map(({ forged }) => forged)).toEqual(subscribers.map(() => 0));
    expect(counts.share).toBeLessThan(MAX_DOUBLED);
    const ordered = subscribers.filter(({ manners }) => manners === 'ordered');
    expect(ordered.map(({ disordered }) => disordered)).toEqual([0]);
  }, 1_500_000);
});
