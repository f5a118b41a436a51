import type { RedisClient } from '#platform';

/**
 * Yields the fields of a Redis hash. Requests them from Redis in batches, because reading a long hash at once would
 * take many times the memory of the result. If fields are added or removed meanwhile, the result may or may not
 * contain them. A field may be yielded twice.
 * @param batchSize number of fields to request at a time; Redis may return more
 */
export async function* fieldsOfRedisHash(
  redis: RedisClient,
  key: string,
  batchSize: number,
): AsyncGenerator<[field: Buffer, value: Buffer]> {
  let cursor = '0';
  do {
    const [next, fields] = await redis.hscanBuffer(key, cursor, 'COUNT', batchSize);
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [field, value] = [fields[i], fields[i + 1]];
      if (field !== undefined && value !== undefined) yield [field, value];
    }
    cursor = next.toString();
  } while (cursor !== '0');
}
