import { describe, expect, it } from '@jest/globals';
import { mayStillNeedFile } from './file-rule.js';
import { SEND_TRANSITION_NAMES, findTransitionResult } from './send-transitions.js';
import { SEND_STATUSES } from './send.js';

describe('the file of a send', () => {
  it('is needed in exactly the statuses from which the send can still be posted', () => {
    for (const status of SEND_STATUSES)
      expect([status, mayStillNeedFile(status)]).toEqual([status, canBePosted(status)]);
  });
});

/** True if some sequence of transitions leads from this status to a POST. */
function canBePosted(from: (typeof SEND_STATUSES)[number]): boolean {
  const reached = new Set([from]);
  for (const status of reached) {
    for (const transition of SEND_TRANSITION_NAMES) {
      const to = findTransitionResult(status, transition)?.to;
      if (to !== undefined) reached.add(to);
    }
  }
  return reached.has('relaying');
}
