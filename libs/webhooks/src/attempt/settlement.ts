import type { Settlement } from '../delivery/delivery-store.js';
import type { DeliveryDecision } from '../delivery/retry-policy.js';

/** Returns the new state of a delivery after an attempt, according to the retry policy's decision. */
export function deliveryStateAfter(decision: DeliveryDecision): Settlement {
  switch (decision.kind) {
    case 'succeeded':
      return { status: 'succeeded' };
    case 'retry':
      return {
        status: 'pending',
        waitMs: decision.waitMs,
        ...(decision.requestedMs === undefined ? {} : { requestedMs: decision.requestedMs }),
      };
    case 'failed':
    case 'gone':
      return { status: 'failed', reason: decision.reason };
  }
}

/** Describes a decision about a delivery in words, for the log. */
export function describeDeliveryDecision(decision: DeliveryDecision): string {
  switch (decision.kind) {
    case 'retry':
      return `retry in ${decision.waitMs} ms`;
    case 'gone':
      return 'failed';
    case 'succeeded':
    case 'failed':
      return decision.kind;
  }
}
