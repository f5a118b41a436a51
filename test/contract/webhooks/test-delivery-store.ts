import { accountKeys } from '#platform';
import { type FinishedAttempt, RedisDeliveryStore } from '#webhooks';

type SettlementResult = Awaited<ReturnType<RedisDeliveryStore['settleAll']>>[number];

/** A range of the event log that an endpoint missed. Both ends are positions in the log and inclusive. */
interface Gap {
  from: string;
  to: string;
}

/** Store of deliveries that can also record a single attempt and read the gaps of an endpoint. */
export class TestDeliveryStore extends RedisDeliveryStore {
  async settle(
    account: string,
    delivery: FinishedAttempt['delivery'],
    attempt: FinishedAttempt['attempt'],
    settlement: FinishedAttempt['settlement'],
    throttling: FinishedAttempt['throttling'] = { slowsDown: false, pauseMs: 0 },
  ): Promise<SettlementResult> {
    const [result] = await this.settleAll(account, [{ delivery, attempt, settlement, throttling }]);
    if (result === undefined) throw new Error('The script returned no result.');
    return result;
  }

  /** Returns the gaps of an endpoint, oldest first, including the events for which its backlog had no room. */
  async gaps(account: string, endpointId: string): Promise<Gap[]> {
    const gaps = accountKeys(this.prefix, account)('endpoint', endpointId, 'gaps');
    return (await this.redis.lrange(gaps, 0, -1)).map((gap) => {
      const [from = '', to = ''] = gap.split(' ');
      return { from, to };
    });
  }
}
