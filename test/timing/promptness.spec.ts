import { describe, expect, it } from '@jest/globals';
import { conversationTraffic, figuresOf, uniformDelays, unevenTraffic } from '../support/traffic.js';
import { runPromptnessTrial } from './promptness-trial.js';
import { virtualDelays } from './virtual-promptness.js';

/** Seed of the traffic. All runs use the same traffic, so that they are comparable. */
const seed = Number(process.env.PROMPTNESS_SEED ?? 11);

describe('the polling of 300 contacts, 30 of them busy, at 20 requests per second', () => {
  it.each([
    [
      'measured from 20 s after the first contact list',
      { warm: false, warmUpMs: 20_000, durationMs: 95_000 },
    ],
    ['measured after all messages were read', { warm: true, warmUpMs: 20_000, durationMs: 95_000 }],
  ])(
    'reports each new message within 20 s, and on average at least twice as fast as polling all contacts in turn (%s)',
    async (start, { durationMs, ...begin }) => {
      const [contacts, requestsPerSecond] = [300, 20];
      const traffic = unevenTraffic({
        ...{ contacts, seed, activeContacts: 30, activeShare: 0.9, perSecond: 6.7, durationMs },
      });
      const { messages, figures, missing, requests, otherPages } = await runPromptnessTrial({
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

describe('the polling of 1,000 contacts with occasional conversations, at 50 requests per second', () => {
  it('has a mean detection delay that differs by at most 25 % from the mean delay of a simulation in virtual time', async () => {
    const [contacts, requestsPerSecond, warmUpMs, measuredMs] = [1_000, 50, 120_000, 240_000];
    const traffic = conversationTraffic({
      ...{ contacts, seed, messages: 8, gapMs: 30_000, durationMs: warmUpMs + measuredMs },
      // At least 1,500 messages are measured. Conversations at the start began minutes before.
      ...{ conversationsPerSecond: 0.95, runInMs: 1_200_000 },
    });
    // The real and the virtual run both start without knowledge and learn from the same warm-up.
    const virtual = virtualDelays({ contacts, requestsPerSecond, warmUpMs, traffic });
    const { messages, figures, missing, requests, otherPages } = await runPromptnessTrial({
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
