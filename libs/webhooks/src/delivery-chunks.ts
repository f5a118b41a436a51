import type { NewDelivery } from './delivery.js';

const MOST_CREATED = 200;
const MOST_CREATED_BYTES = 4 * 1024 * 1024;

/** Deliveries in numbers and sizes that one step may store without holding up others. */
export function* chunksOf(deliveries: readonly NewDelivery[]): Generator<NewDelivery[], void, void> {
  let chunk: NewDelivery[] = [];
  let bytes = 0;
  for (const delivery of deliveries) {
    const size = Buffer.byteLength(delivery.body);
    if (chunk.length === MOST_CREATED || (chunk.length > 0 && bytes + size > MOST_CREATED_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(delivery);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}
