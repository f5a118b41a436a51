import type { Written } from '../support/traffic.js';
import { ours } from '../bench/virtual/policies.js';
import { type Message } from '../bench/virtual/traffic.js';
import { playFeed } from '../bench/virtual/virtual-feed.js';

/** Bounds of one contact's interval that the product has unless it is told otherwise. */
const BOUNDS = { minMs: 2_000, maxMs: 300_000 };

export interface VirtualPlan {
  contacts: number;
  requestsPerSecond: number;
  warmUpMs: number;
  traffic: readonly Written[];
}

/** How late the product's own schedule would find each message of a trace if nothing else took time; milliseconds. */
export function virtualDelays({ contacts, requestsPerSecond, warmUpMs, traffic }: VirtualPlan): number[] {
  const messages = traffic.map(({ at, contact }): Message => {
    // Who is in conversation until when is nothing that this policy looks at.
    return { at: at / 1_000, contact, endsAt: at / 1_000 };
  });
  const { delays } = playFeed({
    traffic: {
      contacts,
      // Until the last one is found.
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
