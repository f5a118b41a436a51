import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '#platform';
import { IDEMPOTENCY_KEY_RESERVATION_MS, type SendService } from '#relay';
import { KeyReservation } from './key-reservation.js';

/** Duration of the longest upload, in milliseconds. */
const UPLOAD_MS = 300_000;
const LOGGER = createLogger('gateway', 'silent', { write: () => undefined });

let reserve: jest.Mock<SendService['reserve']>;
let release: jest.Mock<SendService['release']>;
/** When the lease was acquired or renewed, in milliseconds. */
let leasedAt: number[];

beforeEach(() => {
  jest.useFakeTimers();
  leasedAt = [];
  reserve = jest.fn<SendService['reserve']>();
  reserve.mockImplementation(() => {
    leasedAt.push(Date.now());
    return Promise.resolve();
  });
  release = jest.fn<SendService['release']>();
  release.mockResolvedValue(undefined);
});
afterEach(() => {
  jest.useRealTimers();
});

const take = (): Promise<KeyReservation> =>
  KeyReservation.acquire({ reserve, release } as unknown as SendService, 'a', 'k1', LOGGER);

it('an idempotency key stays reserved while its request is read, however long that takes, and is released after it', async () => {
  const reservation = await take();
  await jest.advanceTimersByTimeAsync(UPLOAD_MS);
  const waits = leasedAt.slice(1).map((at, i) => at - (leasedAt[i] ?? 0));
  expect(waits.length).toBeGreaterThanOrEqual(UPLOAD_MS / IDEMPOTENCY_KEY_RESERVATION_MS);
  // One renewal may fail, and the lease is still renewed in time.
  expect(Math.max(...waits)).toBeLessThan(IDEMPOTENCY_KEY_RESERVATION_MS / 2);
  for (const call of reserve.mock.calls) expect(call).toEqual(['a', 'k1', reservation.owner]);
  await reservation.end();
  const renewals = reserve.mock.calls.length;
  await jest.advanceTimersByTimeAsync(UPLOAD_MS);
  expect(reserve).toHaveBeenCalledTimes(renewals);
  expect(release.mock.calls).toEqual([['a', 'k1', reservation.owner]]);
});

it('an idempotency key that another request has reserved is not renewed', async () => {
  reserve.mockRejectedValue(new Error('reserved'));
  await expect(take()).rejects.toThrow('reserved');
  await jest.advanceTimersByTimeAsync(UPLOAD_MS);
  expect(reserve).toHaveBeenCalledTimes(1);
});
