/** Max number of deliveries that one Redis script stores, so that Redis is never blocked for long. */
const MAX_CHUNK_SIZE = 200;

/** Splits deliveries, or their events, into chunks that are small enough for one Redis script. */
export function* splitIntoDeliveryChunks<T>(items: readonly T[]): Generator<T[], void, void> {
  for (let first = 0; first < items.length; first += MAX_CHUNK_SIZE) {
    yield items.slice(first, first + MAX_CHUNK_SIZE);
  }
}
