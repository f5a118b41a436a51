import type { NewDelivery } from './delivery.js';

/** Max deliveries that one Redis script stores, so that Redis is never blocked for long. */
const MAX_CHUNK_SIZE = 200;

/** Splits deliveries into chunks that are small enough for one Redis script. */
export function* splitDeliveriesIntoChunks(
  deliveries: readonly NewDelivery[],
): Generator<NewDelivery[], void, void> {
  for (let first = 0; first < deliveries.length; first += MAX_CHUNK_SIZE) {
    yield deliveries.slice(first, first + MAX_CHUNK_SIZE);
  }
}
