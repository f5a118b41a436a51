/**
 * Random histories against the feed, and an oracle that says what must be told.
 *
 * A failure prints the seed and the path of the history. To run that one again, and only that one:
 *
 *     TIDINGS_SEED=<seed> TIDINGS_PATH=<path> npm test -- test/property/feed.property
 *
 * TIDINGS_HISTORIES says how many histories are run; TIDINGS_LONG=1 runs 10,000, together with the second half's spec.
 */
import { propertyOfTheFeed } from './property.js';

propertyOfTheFeed(1);
