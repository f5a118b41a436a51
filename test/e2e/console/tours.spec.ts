import { describeTours } from '../../support/console-tours.js';

describeTours('mouse');
