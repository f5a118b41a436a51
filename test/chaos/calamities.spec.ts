import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { startTestPair, type TestPair } from '../support/redis-pair.js';
import { Calamities } from './calamities.js';
import { RelayTrial } from './relay-trial.js';
import { type Behaviour, WebhookTrial } from './webhook-trial.js';

const SENDS = { sends: 2_000, recipients: 300, everyMs: 1_200 };
const SENDS_SETTLED_WITHIN_MS = 300_000;

const EVENTS = 5_000;
const CHUNK_EVERY_MS = 3_000;
const EVENTS_SETTLED_WITHIN_MS = 600_000;
const MAX_DOUBLED = 0.01;
const BEHAVIOURS: Behaviour[] = ['ordered', 'healthy', 'healthy', 'healthy', 'hangs', 'failsHalf', 'dead'];
/**
 * Length of the webhook trial, in milliseconds. One hour is simulated as one second: the endpoint is dead for
 * a week.
 */
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

describe('while Redis fails over twice and is full for a minute, one worker has a wrong clock, and ten workers are suspended for a minute each,', () => {
  it('no stored send is lost, duplicated, reordered or left unfinished', async () => {
    const running = await RelayTrial.start(await startTestPair(), SENDS);
    trial = running;
    calamities = await Calamities.start(running.product);
    const began = performance.now();
    await Promise.all([running.send(), calamities.run()]);
    const shown = await running.settle(SENDS_SETTLED_WITHIN_MS);
    const verdict = await running.judge(shown);
    const refused = running.unanswered.size;
    print('Sends through calamities', { seconds: secondsSince(began), refused, ...verdict.counts });
    expect(verdict.faults.slice(0, 20)).toEqual([]);
    // The other sends were refused while Redis was full or had no master.
    expect(running.asked.length).toBeGreaterThan(SENDS.sends / 2);
    expect(refused).toBeGreaterThan(0);
    expect(verdict.counts.unknown).toBeLessThanOrEqual(verdict.counts.ambiguousFaults);
  }, 900_000);

  it('healthy webhooks get every event with few duplicates, the ordered webhook gets the events in order, and a disabled webhook gets every event by a replay', async () => {
    const running = await WebhookTrial.startOn(await startTestPair(), BEHAVIOURS, VIRTUAL);
    trial = running;
    calamities = await Calamities.start(running.product);
    const began = performance.now();
    const since = new Date(Date.now() - 60_000).toISOString();
    await Promise.all([running.appendSlowly(EVENTS, CHUNK_EVERY_MS), calamities.run(), pause(WEEK_MS)]);
    await running.settle(EVENTS_SETTLED_WITHIN_MS);
    const { healthy, subscribers, events } = running;
    const dead = subscribers.find(({ behaviour }) => behaviour === 'dead');
    if (dead === undefined) throw new Error('no subscriber was dead');
    const disabled = await eventually(
      'the dead webhook is disabled',
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
      'the dead webhook has received every event',
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
    const ordered = subscribers.filter(({ behaviour }) => behaviour === 'ordered');
    expect(ordered.map(({ disordered }) => disordered)).toEqual([0]);
  }, 1_500_000);
});
