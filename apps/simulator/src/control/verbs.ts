import { contactVerbs } from './contact-verbs.js';
import { messageVerbs } from './message-verbs.js';
import { simulatorVerbs } from './simulator-verbs.js';
import type { Verbs } from './verb.js';

/** All control verbs, keyed by their path under `/_simulator/`. */
export const verbs: Verbs = { ...simulatorVerbs, ...contactVerbs, ...messageVerbs };
