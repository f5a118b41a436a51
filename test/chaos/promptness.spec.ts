import { describe, expect, it } from '@jest/globals';
import { conversationTraffic, figuresOf, uniformDelays, unevenTraffic } from '../support/traffic.js';
import { tryPromptness } from './promptness-trial.js';
import { virtualDelays } from './virtual-promptness.js';

/** One trace for all runs, so that they can be compared; another seed makes another one. */
const seed = Number(process.env.PROMPTNESS_SEED ?? 11);

describe('the feed of 300 contacts, of which 30 write nearly everything, at 20 requests a second', () => {
  it.each([
    ['20 s after the first list was read', { warm: false, warmUpMs: 20_000, durationMs: 95_000 }],
    ['once everything was read', { warm: true, warmUpMs: 20_000, durationMs: 95_000 }],
  ])(
    'tells a new message in 0.45 of the time that a plain loop takes on average, and none later than 20 s: %s',
    async (start, { durationMs, ...begin }) => {
      const [contacts, requestsPerSecond] = [300, 20];
      const traffic = unevenTraffic({
        ...{ contacts, seed, talkers: 30, share: 0.9, perSecond: 6.7, durationMs },
      });
      const { messages, figures, missing, requests, otherPages } = await tryPromptness({
        ...{ contacts, requestsPerSecond, traffic, knownMessages: 45, workers: 2 },
        ...begin,
      });
      const uniform = figuresOf(uniformDelays(messages, contacts, requestsPerSecond));
      const late = messages.filter(({ delay }) => delay === undefined || delay > 20_000).length;
      const ratio = figures.mean / uniform.mean;
      const print = { seed, ratio, figures, uniform, late, missing, requests, otherPages };
      process.stdout.write(`Promptness of 300 contacts, ${start}: ${JSON.stringify(print)}\n`);
      expect(missing).toBe(0);
      expect(late).toBe(0);
      expect(ratio).toBeLessThanOrEqual(0.45);
    },
    600_000,
  );
});

describe('the feed of 1,000 contacts with conversations now and then, at 50 requests a second', () => {
  it('tells new messages as late on average as in virtual time, within a quarter', async () => {
    const [contacts, requestsPerSecond, warmUpMs, measuredMs] = [1_000, 50, 120_000, 240_000];
    const traffic = conversationTraffic({
      ...{ contacts, seed, messages: 8, gapMs: 30_000, durationMs: warmUpMs + measuredMs },
      // So that at least 1,500 messages are measured; those under way at the beginning began minutes before.
      ...{ conversationsPerSecond: 0.95, runInMs: 1_200_000 },
    });
    // Both begin with nothing known and learn from the same warm-up.
    const virtual = virtualDelays({ contacts, requestsPerSecond, warmUpMs, traffic });
    const { messages, figures, missing, requests, otherPages } = await tryPromptness({
      ...{ contacts, requestsPerSecond, warmUpMs, traffic, knownMessages: 10, workers: 3, warm: false },
    });
    const uniform = figuresOf(uniformDelays(messages, contacts, requestsPerSecond));
    const ratio = figures.mean / figuresOf(virtual).mean;
    const print = { seed, ratio, figures, virtual: figuresOf(virtual), uniform, missing };
    process.stdout.write(
      `Promptness of 1,000 contacts: ${JSON.stringify({ ...print, requests, otherPages })}\n`,
    );
    expect(missing).toBe(0);
    expect(figures.count).toBeGreaterThanOrEqual(1_500);
    expect(ratio).toBeGreaterThanOrEqual(0.75);
    expect(ratio).toBeLessThanOrEqual(1.25);
  }, 900_000);
});
