import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  clockOfThisMachine,
  closeRedis,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import {
  IDEMPOTENCY_KEY_RESERVATION_MS,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  IdempotentRequestInProgressError,
  RedisIdempotencyKeys,
  RedisRelayStore,
  type SendService,
  StoreBackedSendService,
} from '#relay';
import { FakeSendService } from '../../../apps/gateway/src/fixtures/fakes.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ANY_SERVICE } from '../feed/feed-harness.js';
import { NO_HINTS, NUMBER } from './with-lane.js';

const ACCOUNT = 'default';
const request = { phoneNumber: NUMBER, type: 'text', message: 'Hi' };
const key = (name: string, fingerprint = 'a1'): IdempotencyKey => ({
  ...{ key: name, fingerprint, lifetimeMs: 168 * 3_600_000 },
});

let server: TestRedis;
let redis: RedisClient;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
});
afterEach(async () => {
  await closeRedis(redis);
});

/** A service under test. */
interface Subject {
  service: SendService;
  /** Number of stored sends of the account. */
  count(): Promise<number>;
  /** Ends all reservations, as time does. */
  expireReservations(): Promise<void>;
}

const SUBJECTS: readonly [string, () => Subject][] = [
  [
    'the service in Redis',
    () => {
      const prefix = newId('req');
      const store = new RedisRelayStore(redis, prefix, clockOfThisMachine);
      const reservations = new RedisIdempotencyKeys(redis, prefix);
      return {
        service: new StoreBackedSendService(store, reservations, NO_HINTS, ANY_SERVICE),
        count: () => redis.llen(`${prefix}:{${ACCOUNT}}:lane:${NUMBER}`),
        expireReservations: async () => {
          const names = await redis.keys(`${prefix}:*:idempotency:*`);
          for (const name of names) {
            const leftMs = await redis.pttl(name);
            if (leftMs <= IDEMPOTENCY_KEY_RESERVATION_MS) await redis.del(name);
          }
        },
      };
    },
  ],
  [
    "the gateway tests' fake",
    () => {
      const service = new FakeSendService();
      return {
        service,
        count: () =>
          Promise.resolve([...service.sends.keys()].filter((id) => id.startsWith(`${ACCOUNT}/`)).length),
        expireReservations: () => {
          service.reservations.clear();
          return Promise.resolve();
        },
      };
    },
  ],
];

describe.each(SUBJECTS)('storing a new send (%s)', (_, open) => {
  let subject: Subject;
  let service: SendService;

  beforeEach(() => {
    subject = open();
    ({ service } = subject);
  });

  it('with a used idempotency key and the same body returns the earlier send, and stores nothing', async () => {
    const first = await service.accept(ACCOUNT, request, key('k'));
    expect(await service.accept(ACCOUNT, request, key('k'))).toEqual({ id: first.id, replayed: true });
    expect(await subject.count()).toBe(1);
  });

  it('with a used idempotency key and a different body is refused, and stores nothing', async () => {
    await service.accept(ACCOUNT, request, key('k', 'a1'));
    const reused = service.accept(ACCOUNT, request, key('k', 'b2'));
    await expect(reused).rejects.toThrow(IdempotencyKeyReusedError);
    expect(await subject.count()).toBe(1);
  });

  it('in 50 concurrent calls with one idempotency key stores only one send', async () => {
    const all = await Promise.all(
      Array.from({ length: 50 }, () => service.accept(ACCOUNT, request, key('k'))),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await subject.count()).toBe(1);
  });

  it('with a reserved idempotency key is allowed only to the request that reserved the key', async () => {
    await service.reserve(ACCOUNT, 'k', 'one');
    await expect(service.reserve(ACCOUNT, 'k', 'two')).rejects.toThrow(IdempotentRequestInProgressError);
    await service.reserve(ACCOUNT, 'k', 'one');
    for (const under of [key('k'), { ...key('k'), owner: 'two' }]) {
      const accepted = service.accept(ACCOUNT, request, under);
      await expect(accepted).rejects.toThrow(IdempotentRequestInProgressError);
      await expect(service.recall(ACCOUNT, under)).rejects.toThrow(IdempotentRequestInProgressError);
    }
    await service.release(ACCOUNT, 'k', 'two');
    expect(await service.recall(ACCOUNT, { ...key('k'), owner: 'one' })).toBeUndefined();
    const { id } = await service.accept(ACCOUNT, request, { ...key('k'), owner: 'one' });
    await service.release(ACCOUNT, 'k', 'one');
    // The key now belongs to the send, so a reservation is not needed.
    await service.reserve(ACCOUNT, 'k', 'two');
    const replay = { id, replayed: true };
    expect(await service.accept(ACCOUNT, request, { ...key('k'), owner: 'two' })).toEqual(replay);
    expect(await service.recall(ACCOUNT, key('k'))).toEqual(replay);
    await expect(service.recall(ACCOUNT, key('k', 'b2'))).rejects.toThrow(IdempotencyKeyReusedError);
    expect(await subject.count()).toBe(1);
  });

  it('with an idempotency key whose reservation expired is refused, as another request may hold the key', async () => {
    await service.reserve(ACCOUNT, 'k', 'one');
    await subject.expireReservations();
    const accept = (owner: string): Promise<unknown> =>
      service.accept(ACCOUNT, request, { ...key('k'), owner });
    await expect(accept('one')).rejects.toThrow(IdempotentRequestInProgressError);
    await service.reserve(ACCOUNT, 'k', 'two');
    await expect(accept('one')).rejects.toThrow(IdempotentRequestInProgressError);
    await service.release(ACCOUNT, 'k', 'two');
    await expect(accept('two')).rejects.toThrow(IdempotentRequestInProgressError);
    expect(await service.recall(ACCOUNT, key('k'))).toBeUndefined();
    expect((await service.accept(ACCOUNT, request, key('k'))).replayed).toBe(false);
  });

  it('keeps the idempotency keys of each account separate, and allows any characters in a key', async () => {
    const one = await service.accept(ACCOUNT, request, key('k'));
    await service.reserve('other', 'k', 'one');
    await service.release('other', 'k', 'one');
    const others = [
      await service.accept('other', request, key('k')),
      await service.accept(ACCOUNT, request, key('K')),
      await service.accept(ACCOUNT, request, key('k\n\u{1F44B} ')),
      await service.accept(ACCOUNT, request),
      await service.accept(ACCOUNT, request),
    ];
    expect(new Set([one, ...others].map(({ id }) => id)).size).toBe(6);
  });
});
