import {
  planPollIntervals,
  type IntervalBounds,
  type IntervalPlan,
} from '../../../libs/feed/src/schedule/intervals.js';
import {
  expectedMessageRate,
  type MessageRateState,
  messageRateStateAfterRead,
} from '../../../libs/feed/src/schedule/rate.js';
import {
  messageRateBucketIndexOf,
  type RateHistogram,
} from '../../../libs/feed/src/schedule/rate-histogram.js';
import type { Message, Traffic } from './traffic.js';
import type { Policy } from './virtual-feed.js';

/** The resources of a policy. */
export interface Allowance {
  contacts: number;
  requestsPerSecond: number;
  bounds: IntervalBounds;
}

/** Time between two calculations of the intervals, in seconds. */
const PLAN_INTERVAL_SECONDS = 3;

/** Polls all contacts in turn. */
export function uniform({ contacts, requestsPerSecond, bounds }: Allowance): Policy {
  const interval = Math.max(contacts / requestsPerSecond, bounds.minMs / 1000);
  return {
    start: (contact) => contact / requestsPerSecond,
    polled: (_, now) => now + interval,
  };
}

/**
 * Polls in proportion to the square root of each contact's true rate, which never changes. No maximum
 * interval.
 */
export function staticRoot({ contacts, requestsPerSecond }: Allowance, traffic: Traffic): Policy {
  const roots = Float64Array.from({ length: contacts }, (_, n) => Math.sqrt(traffic.startsPerSecond(n)));
  const sum = roots.reduce((total, root) => total + root, 0);
  const interval = (contact: number): number => sum / (roots[contact] ?? 0) / requestsPerSecond;
  return {
    start: (contact) => ((contact * 0.6180339887) % 1) * interval(contact),
    polled: (contact, now) => now + interval(contact),
  };
}

/** Keeps a rate per contact, the histogram of the rates, and the resulting plan. */
class Planner {
  readonly histogram = new Map<number, number>();
  private readonly buckets: Int16Array;
  private plan: IntervalPlan;
  private plannedAt = -Infinity;
  private known = 0;

  constructor(
    private readonly allowance: Allowance,
    private readonly unknownPerSecond: number,
  ) {
    this.buckets = new Int16Array(allowance.contacts).fill(-1);
    this.plan = this.newPlan();
  }

  /** Returns when a contact is due if its message rate is `perSecond` from now on. */
  due(contact: number, now: number, perSecond: number): number {
    const before = this.buckets[contact] ?? -1;
    const bucket = messageRateBucketIndexOf(perSecond);
    if (bucket !== before) {
      if (before < 0) this.known += 1;
      else this.histogram.set(before, (this.histogram.get(before) ?? 1) - 1);
      this.histogram.set(bucket, (this.histogram.get(bucket) ?? 0) + 1);
      this.buckets[contact] = bucket;
    }
    if (now >= this.plannedAt + PLAN_INTERVAL_SECONDS) {
      this.plan = this.newPlan();
      this.plannedAt = now;
    }
    return now + this.plan.intervalMs(perSecond) / 1000;
  }

  private newPlan(): IntervalPlan {
    const { contacts, requestsPerSecond, bounds } = this.allowance;
    return planPollIntervals(this.histogram, requestsPerSecond, bounds, {
      contacts: contacts - this.known,
      perSecond: this.unknownPerSecond,
    });
  }
}

/** The product's policy. Learns only from the results of its polls. */
export function ours(allowance: Allowance): Policy & { histogram: RateHistogram } {
  const planner = new Planner(allowance, expectedMessageRate(undefined, 0));
  const states: (MessageRateState | undefined)[] = [];
  const readAt = new Float64Array(allowance.contacts);
  return {
    histogram: planner.histogram,
    start: (contact) => contact / allowance.requestsPerSecond,
    polled: (contact, now, found) => {
      const at = now * 1000;
      const state = messageRateStateAfterRead(states[contact], {
        arrivals: found.length,
        at,
        since: (readAt[contact] ?? 0) * 1000,
        times: found.map((message) => message.at * 1000),
      });
      states[contact] = state;
      readAt[contact] = now;
      return planner.due(contact, now, expectedMessageRate(state, at));
    },
  };
}

/**
 * Knows every contact's true rate. After the poll that finds the first message of a conversation, also knows
 * whether the conversation continues. The best possible policy without hints, because nobody can predict a
 * first message.
 */
export function clairvoyant(allowance: Allowance, traffic: Traffic): Policy {
  const planner = new Planner(allowance, 1e-6);
  const endsAt = new Float64Array(allowance.contacts).fill(-Infinity);
  return {
    start: (contact) => contact / allowance.requestsPerSecond,
    polled: (contact, now, found) => {
      const latest = found.reduce(
        (end, message) => Math.max(end, message.endsAt),
        endsAt[contact] ?? -Infinity,
      );
      endsAt[contact] = latest;
      const rate = latest > now ? traffic.followsPerSecond(contact) : traffic.startsPerSecond(contact);
      return planner.due(contact, now, rate);
    },
  };
}

/** Knows at any time which contacts are in conversation, even before a poll. Polls only those contacts. */
export function omniscient({ bounds }: Allowance): Policy {
  const minSeconds = bounds.minMs / 1000;
  const endsAt = new Map<number, number>();
  return {
    start: () => Infinity,
    written: (message: Message) => {
      const before = endsAt.get(message.contact) ?? -Infinity;
      endsAt.set(message.contact, Math.max(before, message.endsAt));
      return before >= message.at ? undefined : message.at;
    },
    polled: (contact, now) => ((endsAt.get(contact) ?? -Infinity) > now ? now + minSeconds : Infinity),
  };
}
