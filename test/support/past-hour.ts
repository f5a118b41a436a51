import { once } from 'node:events';
import { minuteNumberAt, createZeroCounts, RedisStatsStore } from '#metrics';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';

/**
 * Writes an hour of statistics of the account `default`, typical of a small installation on a morning.
 * @param redisUrl the Redis of an installation with the default prefix of keys
 */
export async function writePastHour(redisUrl: string): Promise<void> {
  const redis = openRedis(parseRedisAddress(redisUrl), 'failFast', () => undefined);
  await once(redis, 'ready');
  try {
    const store = new RedisStatsStore(redis, 'tidings');
    const { now } = await store.read('default');
    // Includes the current minute. A screenshot that is made in the next minute shows it as a complete minute.
    const hour = Array.from({ length: 60 }, (_, i) => countsOf(i));
    const first = minuteNumberAt(now) - hour.length + 1;
    await store.add('default', new Map(hour.map((counts, i) => [first + i, counts])));
  } finally {
    await closeRedis(redis);
  }
}

/** @param minute number of the minute, from 0 */
function countsOf(minute: number) {
  const busy = 1 + Math.sin(minute / 9) * 0.6 + Math.sin(minute * 1.7) * 0.25;
  const [sends, received] = [Math.round(14 * busy), Math.round(9 * busy)];
  const failed = minute % 17 === 5 ? 1 : 0;
  const delays = sends + received;
  const events = 3 * sends + received;
  const failures = minute > 40 ? 4 : 0;
  return {
    ...createZeroCounts(),
    ...{ sendsCreated: sends, sendsAccepted: sends, sendsSent: sends - failed, sendsFailed: failed },
    ...{ eventsTotal: events, eventsReceived: received },
    ...{ deliveriesSucceeded: events, deliveryAttemptsFailed: failures },
    ...{
      detectionDelays: delays,
      detectionDelaySumMs: delays * 900 * busy,
      detectionDelayMaxMs: 2_400 * busy,
    },
    ...{ deliveryDelays: events, deliveryDelaySumMs: events * 60 * busy, deliveryDelayMaxMs: 340 * busy },
    ...{ requestsUsed: Math.round(2_600 * busy), requestsThrottled: 0, requestsFailed: failed },
    ...{ backlogSamples: 1, backlogSends: failed, backlogDeliveries: failures * (minute - 40) },
  };
}
