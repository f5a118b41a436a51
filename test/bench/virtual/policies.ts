import {
  planIntervals,
  type IntervalBounds,
  type IntervalPlan,
} from '../../../libs/feed/src/schedule/intervals.js';
import { rateOf, type RateState, recordRead } from '../../../libs/feed/src/schedule/rate.js';
import { bucketOf, type RateHistogram } from '../../../libs/feed/src/schedule/rate-histogram.js';
import type { Message, Traffic } from './traffic.js';
import type { Policy } from './virtual-feed.js';

/** What a policy may spend. */
export interface Allowance {
  contacts: number;
  requestsPerSecond: number;
  bounds: IntervalBounds;
}

/** How often the intervals are planned anew; seconds. */
const REPLAN_SECONDS = 3;

/** All contacts in turn. */
export function uniform({ contacts, requestsPerSecond, bounds }: Allowance): Policy {
  const interval = Math.max(contacts / requestsPerSecond, bounds.minMs / 1000);
  return {
    start: (contact) => contact / requestsPerSecond,
    polled: (_, now) => now + interval,
  };
}

/** In proportion to the square root of each contact's true rate, which never changes; no bound on how long one may wait. */
export function staticRoot({ contacts, requestsPerSecond }: Allowance, traffic: Traffic): Policy {
  const roots = Float64Array.from({ length: contacts }, (_, n) => Math.sqrt(traffic.startsPerSecond(n)));
  const sum = roots.reduce((total, root) => total + root, 0);
  const interval = (contact: number): number => sum / (roots[contact] ?? 0) / requestsPerSecond;
  return {
    start: (contact) => ((contact * 0.6180339887) % 1) * interval(contact),
    polled: (contact, now) => now + interval(contact),
  };
}

/** Keeps a rate a contact, the histogram of them, and the plan that follows from it. */
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
    this.plan = this.planAnew();
  }

  /** When a contact is due that changes so often from now on. */
  due(contact: number, now: number, perSecond: number): number {
    const before = this.buckets[contact] ?? -1;
    const bucket = bucketOf(perSecond);
    if (bucket !== before) {
      if (before < 0) this.known += 1;
      else this.histogram.set(before, (this.histogram.get(before) ?? 1) - 1);
      this.histogram.set(bucket, (this.histogram.get(bucket) ?? 0) + 1);
      this.buckets[contact] = bucket;
    }
    if (now >= this.plannedAt + REPLAN_SECONDS) {
      this.plan = this.planAnew();
      this.plannedAt = now;
    }
    return now + this.plan.intervalMs(perSecond) / 1000;
  }

  private planAnew(): IntervalPlan {
    const { contacts, requestsPerSecond, bounds } = this.allowance;
    return planIntervals(this.histogram, requestsPerSecond, bounds, {
      contacts: contacts - this.known,
      perSecond: this.unknownPerSecond,
    });
  }
}

/** The product's: it learns from what the reads find, and from nothing else. */
export function ours(allowance: Allowance): Policy & { histogram: RateHistogram } {
  const planner = new Planner(allowance, rateOf(undefined, 0));
  const states: (RateState | undefined)[] = [];
  const readAt = new Float64Array(allowance.contacts);
  return {
    histogram: planner.histogram,
    start: (contact) => contact / allowance.requestsPerSecond,
    polled: (contact, now, found) => {
      const at = now * 1000;
      const state = recordRead(states[contact], {
        arrivals: found.length,
        at,
        since: (readAt[contact] ?? 0) * 1000,
        times: found.map((message) => message.at * 1000),
      });
      states[contact] = state;
      readAt[contact] = now;
      return planner.due(contact, now, rateOf(state, at));
    },
  };
}

/**
 * Knows every contact's true rate, and from the read that found a conversation's first message on whether that
 * conversation still goes on. The best that can be hoped for without hints: nobody can guess a first message.
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

/** Knows at every instant who is in conversation, also before anything was read of it: it reads nobody else. */
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
