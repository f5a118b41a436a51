/**
 * Plays random histories against the feed. An oracle computes which events must be emitted.
 *
 * A failure prints the seed and the path of the history. To replay only that history:
 *
 * TIDINGS_SEED=<seed> TIDINGS_PATH=<path> npm test -- test/property/feed.property.spec
 *
 * TIDINGS_HISTORIES sets the number of histories of this file. The others run in feed-2 to feed-4, so that all
 * processors are used. TIDINGS_LONG=1 (npm run test:long) runs 2,500 histories in each file.
 */
import { propertyOfTheFeed } from './property.js';

propertyOfTheFeed(1);
