import { testUpgradeFrom } from './data-of-old-build.js';

testUpgradeFrom('5f68bc9');
