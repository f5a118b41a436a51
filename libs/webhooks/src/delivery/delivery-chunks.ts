import type { NewDelivery } from './delivery.js';

const MOST_CREATED = 200;

/** Deliveries in numbers that one step may store without holding up others. */
export function* chunksOf(deliveries: readonly NewDelivery[]): Generator<NewDelivery[], void, void> {
  for (let first = 0; first < deliveries.length; first += MOST_CREATED) {
    yield deliveries.slice(first, first + MOST_CREATED);
  }
}
