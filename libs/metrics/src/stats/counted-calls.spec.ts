import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RelayStore, SendRecord, SendStatus } from '#relay';
import {
  type Upstream,
  UpstreamRequestNotSentError,
  UpstreamStatusError,
  UpstreamTimeoutError,
} from '#upstream';
import { PromMetrics } from '../prom-metrics.js';
import { SendMetrics } from '../send-metrics.js';
import { UpstreamMetrics } from '../upstream-metrics.js';
import type { StatsCounter } from './stats-recorder.js';

const ADDRESS = { baseUrl: 'http://upstream.invalid/v1', apiKey: 'k' };

let counted: string[];
let stats: StatsCounter;

beforeEach(() => {
  counted = [];
  stats = {
    add: (account, counts) => counted.push(...Object.keys(counts).map((name) => `${account} ${name}`)),
  };
});

describe('The requests to upstream', () => {
  let fault: Error | undefined;
  let upstream: Upstream;

  beforeEach(() => {
    fault = undefined;
    const target = {
      readContactsText: () => (fault === undefined ? Promise.resolve('') : Promise.reject(fault)),
    } as unknown as Upstream;
    upstream = new UpstreamMetrics(new PromMetrics('test', '0'), stats).observe(target);
  });

  it.each([
    ['a request with a reply', undefined, ['a requestsUsed']],
    [
      'a request with the reply 429',
      new UpstreamStatusError(429, 'slow down', undefined),
      ['a requestsUsed', 'a requestsThrottled'],
    ],
    [
      'a request with the reply 503',
      new UpstreamStatusError(503, 'away', undefined),
      ['a requestsUsed', 'a requestsFailed'],
    ],
    ['a request without a reply', new UpstreamTimeoutError(1_000), ['a requestsUsed', 'a requestsFailed']],
    ['a request that was not sent, because it was too late', new UpstreamRequestNotSentError(), []],
    ['a request that was not sent, because of another error', new Error('Redis is away'), []],
  ])(
    'are counted by outcome for their account, but only if they were sent: %s',
    async (_, error, expected) => {
      fault = error;
      await upstream.readContactsText({ ...ADDRESS, id: 'a' }, []).catch(() => undefined);
      expect(counted).toEqual(expected);
    },
  );

  it('are not counted for statistics if they belong to no account', async () => {
    await upstream.readContactsText(ADDRESS, []);
    expect(counted).toEqual([]);
  });
});

describe('The sends', () => {
  const recordIn = (status: SendStatus): SendRecord => ({ state: { status, updatedAt: 0 } }) as SendRecord;

  const observed = (target: RelayStore): RelayStore =>
    new SendMetrics(new PromMetrics('test', '0'), stats).observeStore(target);

  async function apply(before: SendStatus, after: SendStatus | undefined): Promise<string[]> {
    const target = {
      apply: () => Promise.resolve(after === undefined ? undefined : recordIn(after)),
    } as unknown as RelayStore;
    await observed(target).apply('a', recordIn(before), {} as never);
    return counted;
  }

  it('are counted for their account when their status changes', async () => {
    expect(await apply('unknown', 'sent')).toEqual(['a sendsSent']);
  });

  it('are not counted if their status stays the same, or if the store rejects the change', async () => {
    expect(await apply('accepted', 'accepted')).toEqual([]);
    expect(await apply('unknown', undefined)).toEqual([]);
  });

  it('are counted as created only once if a caller repeats a request with the same idempotency key', async () => {
    for (const kind of ['new', 'replayed']) {
      const target = { insert: () => Promise.resolve({ kind }) } as unknown as RelayStore;
      await observed(target).insert('a', {} as never);
    }
    expect(counted).toEqual(['a sendsCreated']);
  });
});
