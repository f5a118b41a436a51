import { contactVerbs } from './contact-verbs.js';
import { messageVerbs } from './message-verbs.js';
import { simulatorVerbs } from './simulator-verbs.js';
import type { Verbs } from './verb.js';

/** Every control verb, by the path it has under `/_simulator/`. */
export const verbs: Verbs = { ...simulatorVerbs, ...contactVerbs, ...messageVerbs };
