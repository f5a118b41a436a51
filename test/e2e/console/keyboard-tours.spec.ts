import { describeTours } from '../../support/console-tours.js';

describeTours('keyboard');
