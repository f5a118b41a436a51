// Compares the product's poll schedule with other policies in virtual time, over several seeds.
import type { IntervalBounds } from '../../libs/feed/src/schedule/intervals.js';
import { atMost, heading, information, short } from './figures.js';
import { type Allowance, clairvoyant, omniscient, ours, staticRoot, uniform } from './virtual/policies.js';
import { conversations, steady, type Traffic } from './virtual/traffic.js';
import { mean, percentile, playFeed, type Policy } from './virtual/virtual-feed.js';

const BOUNDS: IntervalBounds = { minMs: 2_000, maxMs: 300_000 };

/** Conditions of a comparison. */
interface Trial {
  traffic: (seed: number) => Traffic;
  seeds: number;
  requestsPerSecond: number;
  warmUpSeconds: number;
}

/** A policy to compare, and the interval of the contact list in seconds. */
interface Contender {
  policy: (allowance: Allowance, traffic: Traffic) => Policy;
  listEverySeconds?: number;
}

/** Detection delays in seconds: averages over the seeds, except for the maximum. */
interface Figures {
  mean: number;
  p50: number;
  p99: number;
  max: number;
}

const CONTENDERS = {
  uniform: { policy: uniform },
  'static square root': { policy: staticRoot },
  clairvoyant: { policy: clairvoyant },
  'clairvoyant of first messages, too': { policy: omniscient },
  ours: { policy: ours },
  'ours with hints': { policy: ours, listEverySeconds: 5 },
} satisfies Record<string, Contender>;

function play(trial: Trial, { policy, listEverySeconds }: Contender, seed: number): Figures {
  const traffic = trial.traffic(seed);
  const { requestsPerSecond, warmUpSeconds } = trial;
  const allowance = { contacts: traffic.contacts, requestsPerSecond, bounds: BOUNDS };
  const { delays } = playFeed({
    traffic,
    policy: policy(allowance, traffic),
    requestsPerSecond,
    warmUpSeconds,
    minSeconds: BOUNDS.minMs / 1000,
    ...(listEverySeconds === undefined ? {} : { listEverySeconds }),
  });
  return {
    mean: mean(delays),
    p50: percentile(delays, 0.5),
    p99: percentile(delays, 0.99),
    max: percentile(delays, 1),
  };
}

/** Plays a trial with every seed and prints the result. */
function figuresOf(trial: Trial, name: string, contender: Contender): Figures {
  const runs = Array.from({ length: trial.seeds }, (_, n) => play(trial, contender, n + 1));
  const average = (key: keyof Figures): number => runs.reduce((sum, run) => sum + run[key], 0) / runs.length;
  const means = runs.map((run) => run.mean);
  const max = Math.max(...runs.map((run) => run.max));
  const figures = { mean: average('mean'), p50: average('p50'), p99: average('p99'), max };
  information(
    `${name}: mean ${short(figures.mean)} s (${short(Math.min(...means))} to ${short(Math.max(...means))}), ` +
      `p50 ${short(figures.p50)} s, p99 ${short(figures.p99)} s, max ${short(max)} s`,
  );
  return figures;
}

/** Plays the same trial with several policies. */
function compare<Name extends keyof typeof CONTENDERS>(
  trial: Trial,
  names: readonly Name[],
): Record<Name, Figures> {
  const results = names.map((name) => [name, figuresOf(trial, name, CONTENDERS[name])] as const);
  return Object.fromEntries(results) as Record<Name, Figures>;
}

const CONVERSATIONS = { startsPerSecond: 0.05, zipf: 1, messages: 8, gapSeconds: 30 };

heading('detection delay, 10,000 contacts, 50 requests/s, conversations: 3 h after 3 h, means of 4 seeds');
const large = compare(
  {
    traffic: (seed) => conversations({ ...CONVERSATIONS, seed, contacts: 10_000, seconds: 6 * 3600 }),
    seeds: 4,
    requestsPerSecond: 50,
    warmUpSeconds: 3 * 3600,
  },
  [
    'uniform',
    'static square root',
    'clairvoyant',
    'clairvoyant of first messages, too',
    'ours',
    'ours with hints',
  ],
);
atMost(0.25, large.ours.mean / large.uniform.mean, 'mean of ours ÷ uniform');
atMost(0.6, large.ours.mean / large['static square root'].mean, 'mean of ours ÷ static square root');
atMost(1.4, large.ours.mean / large.clairvoyant.mean, 'mean of ours ÷ clairvoyant');
atMost(1.25, large.ours.p99 / large.uniform.p99, 'p99 of ours ÷ uniform');
atMost(0.05, large['ours with hints'].mean / large.uniform.mean, 'mean of ours with hints ÷ uniform');
const first = large['clairvoyant of first messages, too'].mean;
information(
  `mean of ours ÷ one who knows first messages before they are read: ${short(large.ours.mean / first)}`,
);

heading(
  'detection delay, 300 contacts, 30 of them in conversation, 20 requests/s: 95 s after 20 s, means of 20 seeds',
);
const busy = compare(
  {
    traffic: (seed) =>
      steady({ seed, contacts: 300, seconds: 115, perSecond: 6.7, busy: 30, busyPart: 0.9, zipf: 1 }),
    seeds: 20,
    requestsPerSecond: 20,
    warmUpSeconds: 20,
  },
  ['uniform', 'clairvoyant', 'ours'],
);
atMost(0.45, busy.ours.mean / busy.uniform.mean, 'mean of ours ÷ uniform');
atMost(20, busy.ours.max, 'longest delay of ours, in seconds');

heading('detection delay, 1,000 contacts, 50 requests/s, conversations: 3 h after 1 h, means of 2 seeds');
const small = compare(
  {
    traffic: (seed) => conversations({ ...CONVERSATIONS, seed, contacts: 1_000, seconds: 4 * 3600 }),
    seeds: 2,
    requestsPerSecond: 50,
    warmUpSeconds: 3600,
  },
  ['uniform', 'clairvoyant', 'ours', 'ours with hints'],
);
atMost(0.3, small.ours.mean / small.uniform.mean, 'mean of ours ÷ uniform');
