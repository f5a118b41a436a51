import { describe, expect, it } from '@jest/globals';
import { type DelayForecast, forecastDetectionDelay } from '../../../libs/feed/src/schedule/forecast.js';
import { ours, staticRoot, uniform } from './policies.js';
import { conversations, steady, type Traffic } from './traffic.js';
import { type FeedResult, mean, percentile, playFeed, type Policy, requestsOf } from './virtual-feed.js';

const BOUNDS = { minMs: 2_000, maxMs: 300_000 };
const play = (
  traffic: Traffic,
  policy: Policy,
  requestsPerSecond: number,
  warmUpSeconds: number,
): FeedResult =>
  playFeed({ traffic, policy, requestsPerSecond, warmUpSeconds, minSeconds: BOUNDS.minMs / 1000 });

const conversationTraffic = (seed: number): Traffic =>
  conversations({
    seed,
    contacts: 500,
    seconds: 4 * 3600,
    startsPerSecond: 0.02,
    zipf: 1,
    messages: 8,
    gapSeconds: 30,
  });

describe('the simulation of polling in virtual time', () => {
  it('counts one request for a poll that finds up to 19 new messages, three for a poll that finds 25, and four for a poll that finds 45', () => {
    expect([0, 1, 19, 25, 45].map(requestsOf)).toEqual([1, 1, 1, 3, 4]);
  });

  it('stays within the request budget, and counts every message exactly once: as detected or as not yet detected', () => {
    const traffic = conversationTraffic(1);
    const { delays, undetected, requests } = play(
      traffic,
      ours({ contacts: 500, requestsPerSecond: 5, bounds: BOUNDS }),
      5,
      0,
    );
    expect(requests).toBeLessThanOrEqual(5 * traffic.seconds + 3);
    expect(delays.length + undetected).toBe(traffic.messages.length);
  });

  it('yields the mean and the maximum detection delay that theory predicts if all contacts are polled in turn', () => {
    const { delays } = play(
      conversationTraffic(2),
      uniform({ contacts: 500, requestsPerSecond: 5, bounds: BOUNDS }),
      5,
      600,
    );
    expect(mean(delays)).toBeGreaterThan(47);
    expect(mean(delays)).toBeLessThan(53);
    expect(percentile(delays, 1)).toBeLessThan(101);
  });

  it('generates the same traffic for the same seed, and different traffic for another seed', () => {
    expect(conversationTraffic(3).messages).toEqual(conversationTraffic(3).messages);
    expect(conversationTraffic(3).messages).not.toEqual(conversationTraffic(4).messages);
  });
});

describe('the poll schedule in a simulation in virtual time', () => {
  const allowance = { contacts: 500, requestsPerSecond: 5, bounds: BOUNDS };
  const sumOfMeanDelays = (make: (traffic: Traffic) => Policy): number =>
    [1, 2, 3].reduce(
      (total, seed) =>
        total + mean(play(conversationTraffic(seed), make(conversationTraffic(seed)), 5, 3600).delays),
      0,
    );

  it('has less than half the mean detection delay that results from polling all contacts in turn', () => {
    const late = sumOfMeanDelays(() => ours(allowance));
    expect(late).toBeLessThan(0.45 * sumOfMeanDelays(() => uniform(allowance)));
  });

  it('has a smaller mean detection delay than fixed poll rates that are proportional to the square root of the message rates', () => {
    const late = sumOfMeanDelays(() => ours(allowance));
    expect(late).toBeLessThan(sumOfMeanDelays((traffic) => staticRoot(allowance, traffic)));
  });

  it('keeps every detection delay below 20 s even under heavy traffic', () => {
    const traffic = steady({
      seed: 1,
      contacts: 300,
      seconds: 600,
      perSecond: 6.7,
      busy: 30,
      busyPart: 0.9,
      zipf: 1,
    });
    const { delays } = play(traffic, ours({ contacts: 300, requestsPerSecond: 20, bounds: BOUNDS }), 20, 20);
    expect(percentile(delays, 1)).toBeLessThan(20);
  });

  it.each([
    ['conversations', conversationTraffic(5), 5],
    [
      'steady traffic',
      steady({ seed: 5, contacts: 300, seconds: 7200, perSecond: 3, busy: 30, busyPart: 0.8, zipf: 1 }),
      10,
    ],
  ])(
    'causes detection delays whose mean and 95th percentile differ from the forecast by at most a factor of two (traffic: %s)',
    (_name, traffic, requestsPerSecond) => {
      const schedule = ours({ contacts: traffic.contacts, requestsPerSecond, bounds: BOUNDS });
      const forecasts: DelayForecast[] = [];
      let nextForecast = 3600;
      const policy: Policy = {
        ...schedule,
        polled: (contact, now, found) => {
          const forecast =
            now < nextForecast
              ? undefined
              : forecastDetectionDelay(schedule.histogram, requestsPerSecond, BOUNDS);
          if (forecast !== undefined) {
            forecasts.push(forecast);
            nextForecast += 300;
          }
          return schedule.polled(contact, now, found);
        },
      };
      const { delays } = play(traffic, policy, requestsPerSecond, 3600);
      const average = (key: keyof DelayForecast): number =>
        forecasts.reduce((sum, forecast) => sum + forecast[key], 0) / forecasts.length / 1000;
      const ratios = [mean(delays) / average('meanMs'), percentile(delays, 0.95) / average('p95Ms')];
      for (const ratio of ratios) {
        expect(ratio).toBeGreaterThan(0.6);
        expect(ratio).toBeLessThan(1.8);
      }
    },
  );
});
