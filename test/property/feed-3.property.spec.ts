/** Another quarter of the histories: see feed.property.spec.ts. */
import { propertyOfTheFeed } from './property.js';

propertyOfTheFeed(3);
