import { describe, expect, it } from '@jest/globals';
import { figuresOf, uniformDelays, unevenTraffic } from '../support/traffic.js';
import { tryPromptness } from './promptness-trial.js';

const seed = Number(process.env.PROMPTNESS_SEED ?? Date.now() % 1_000_000);

describe('the feed of 300 contacts, of which 30 write nearly everything, at 20 requests a second', () => {
  it('tells a new message after 0.45 of the time that a plain loop takes on average, and none later than 20 s', async () => {
    const [contacts, requestsPerSecond, warmUpMs] = [300, 20, 20_000];
    const traffic = unevenTraffic({
      ...{ contacts, seed, talkers: 30, share: 0.9, perSecond: 6.7, durationMs: 95_000 },
    });
    const { messages, figures, missing, requests, firstPages } = await tryPromptness({
      ...{ contacts, requestsPerSecond, warmUpMs, traffic, knownMessages: 45, workers: 2 },
    });
    const uniform = figuresOf(uniformDelays(messages, contacts, requestsPerSecond));
    const late = messages.filter(({ delay }) => delay === undefined || delay > 20_000).length;
    const ratio = figures.mean / uniform.mean;
    const print = { seed, ratio, figures, uniform, late, missing, requests, firstPages };
    process.stdout.write(`Promptness of 300 contacts: ${JSON.stringify(print)}\n`);
    expect(missing).toBe(0);
    expect(late).toBe(0);
    expect(ratio).toBeLessThanOrEqual(0.45);
  }, 300_000);
});
