/**
 * Random histories against the feed, and an oracle that says what must be told.
 *
 * A failure prints the seed and the path of the history. To run that one again, and only that one:
 *
 *     TIDINGS_SEED=<seed> TIDINGS_PATH=<path> npm test -- test/property/feed.property.spec
 *
 * TIDINGS_HISTORIES says how many histories are run here; the other half runs in feed-2.property.spec.ts, so that two
 * processors have work. TIDINGS_LONG=1 (npm run test:long) runs 5,000 in each.
 */
import { propertyOfTheFeed } from './property.js';

propertyOfTheFeed(1);
