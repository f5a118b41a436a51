import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import {
  LaneRunner,
  type RelaySettings,
  type SendAttempt,
  type Sender,
  StoreBackedSendService,
} from '#relay';
import { UpstreamConnectionLostError, UpstreamStatusError, UpstreamUnreachableError } from '#upstream';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, ANY_SERVICE, FeedHarness, UPSTREAM_TIMEOUT_MS } from '../feed/feed-harness.js';

const NUMBER = '+15551234567';
const TEXT = 'hush-text';
const JOBS = { wake: () => Promise.resolve() };
const SETTINGS: RelaySettings = {
  ...{ retryScheduleSeconds: [60], safeStatuses: [429], maxAgeMs: 60_000, onUnknown: 'hold' },
  ...{ confirmMs: 800, confirmMediaMs: 800, postTimeoutMs: UPSTREAM_TIMEOUT_MS },
};

let server: TestRedis;
let harness: FeedHarness;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  harness = await FeedHarness.open(server.url);
});
afterEach(async () => {
  await harness.close();
});

/**
 * Relays one send, which has these earlier attempts. Returns the log lines of the attempt.
 * @param post answers the POST instead of upstream
 */
async function logOf(
  post: () => Promise<void>,
  isHeld = false,
  attempts: SendAttempt[] = [],
): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const logger = createLogger('test', 'trace', { write: (line) => lines.push(line) });
  const sender: Sender = {
    accountOf: () => Promise.resolve({ address: undefined, requestsPerSecond: 1_000_000 }),
    takeBudgetToken: () => Promise.resolve(() => Promise.resolve()),
    isHeld: () => Promise.resolve(isHeld),
    post,
  };
  const intake = new StoreBackedSendService(harness.sends, harness.idempotencyKeys, JOBS, ANY_SERVICE);
  const order = { phoneNumber: NUMBER, type: 'text', message: TEXT };
  const { id } = await intake.accept(ACCOUNT, order, undefined, { requestId: 'req-7' });
  const record = await harness.sends.find(ACCOUNT, id);
  if (record === undefined) throw new Error('the send was not found');
  const state = { ...record.state, attempts };
  await harness.sends.apply(ACCOUNT, record, { transition: 'attempt_recorded', state });
  const runner = new LaneRunner(
    harness.sends,
    sender,
    harness.lookup,
    harness.blobs,
    JOBS,
    SETTINGS,
    logger,
    () => 0,
  );
  await runner.run(ACCOUNT, NUMBER);
  expect(lines.join('')).not.toContain(TEXT);
  expect(lines.join('')).not.toContain(NUMBER);
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'send.attempted');
}

const errorWithText = (status: number): Error =>
  new UpstreamStatusError(status, `bad text: ${TEXT}`, undefined);

describe('an attempt of a send', () => {
  it.each([
    ['accepted', undefined, { outcome: 'accepted', status: 200, decision: 'wait for the message' }],
    ['refused', errorWithText(400), { outcome: 'refused', status: 400, error: 'upstream answered 400' }],
    ['throttled', errorWithText(429), { outcome: 'not_taken', status: 429, decision: 'retry' }],
    [
      'answered with an error',
      errorWithText(500),
      { outcome: 'ambiguous', status: 500, decision: 'look up' },
    ],
    ['not connected', new UpstreamUnreachableError('ECONNREFUSED'), { decision: 'retry' }],
    ['cut off', new UpstreamConnectionLostError('ECONNRESET'), { decision: 'look up' }],
  ])(
    'that was %s is logged in one line, with the request id and without the text of the send',
    async (_, error, entry) => {
      const entries = await logOf(() => (error === undefined ? Promise.resolve() : Promise.reject(error)));
      expect(entries).toEqual([
        expect.objectContaining({ account: ACCOUNT, requestId: 'req-7', attempt: 1, ...entry }),
      ]);
      expect(entries[0]).toMatchObject({ durationMs: expect.any(Number), sendId: expect.any(String) });
    },
  );

  it('is logged with its number, and without a number if earlier attempts are no longer stored with the send', async () => {
    const attempts = Array.from({ length: 50 }, () => ({
      at: new Date(0).toISOString(),
      outcome: 'not_taken' as const,
    }));
    const numbers: unknown[] = [];
    for (const earlier of [attempts.slice(1), attempts]) {
      const [entry] = await logOf(() => Promise.resolve(), false, earlier);
      numbers.push(entry?.['attempt']);
    }
    expect(numbers).toEqual([50, undefined]);
  });

  it('that fails during an outage of the account is logged with the decision "hold"', async () => {
    const entries = await logOf(() => Promise.reject(errorWithText(401)), true);
    expect(entries).toMatchObject([{ status: 401, decision: 'hold' }]);
  });

  it('causes no event that contains the id of the caller’s request', async () => {
    await logOf(() => Promise.resolve());
    expect(JSON.stringify(await harness.deliveredEvents())).not.toContain('req-7');
  });
});
