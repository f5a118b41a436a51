import { testUpgradeFrom } from './data-of-old-build.js';

testUpgradeFrom('ea72489');
