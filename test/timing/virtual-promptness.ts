import type { WrittenMessage } from '../support/traffic.js';
import { ours } from '../bench/virtual/policies.js';
import { type Message } from '../bench/virtual/traffic.js';
import { playFeed } from '../bench/virtual/virtual-feed.js';

/** Default bounds of a contact's poll interval in the product. */
const BOUNDS = { minMs: 2_000, maxMs: 300_000 };

/** Conditions of a virtual run. */
export interface VirtualPlan {
  contacts: number;
  requestsPerSecond: number;
  warmUpMs: number;
  traffic: readonly WrittenMessage[];
}

/**
 * Returns the delay with which the product's schedule would detect each message if nothing else took time, in
 * milliseconds.
 */
export function virtualDelays({ contacts, requestsPerSecond, warmUpMs, traffic }: VirtualPlan): number[] {
  const messages = traffic.map(({ at, contact }): Message => {
    // This policy ignores the end of conversations.
    return { at: at / 1_000, contact, endsAt: at / 1_000 };
  });
  const { delays } = playFeed({
    traffic: {
      contacts,
      // The run ends after the last message is detected.
      seconds: (messages.at(-1)?.at ?? 0) + BOUNDS.maxMs / 1_000,
      messages,
      startsPerSecond: () => 0,
      followsPerSecond: () => 0,
    },
    policy: ours({ contacts, requestsPerSecond, bounds: BOUNDS }),
    requestsPerSecond,
    warmUpSeconds: warmUpMs / 1_000,
    minSeconds: BOUNDS.minMs / 1_000,
  });
  return [...delays].map((seconds) => seconds * 1_000);
}
