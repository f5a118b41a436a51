import type { Settlement } from '../delivery/delivery-store.js';
import type { Decision } from '../delivery/retry-policy.js';

/** What a decision makes of the delivery's state. */
export function settlementOf(decision: Decision): Settlement {
  switch (decision.kind) {
    case 'succeeded':
      return { status: 'succeeded' };
    case 'retry':
      return { status: 'pending', waitMs: decision.waitMs };
    case 'failed':
    case 'gone':
      return { status: 'failed', reason: decision.reason };
  }
}

/** The decision in words, for the log. */
export function describeDecision(decision: Decision): string {
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
