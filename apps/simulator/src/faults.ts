import type { Fault } from './fault-kinds.js';
import type { Random } from './world/random.js';

/** Conditions of a rule. A request must meet all given conditions. */
export interface FaultMatch {
  readonly method?: string;
  /** A regular expression for the path with its query, such as `/messages\?`. */
  readonly path?: string;
  /** The contact whose messages are read. For a send: the contact with the recipient's phone number. */
  readonly contactId?: string;
  /** The recipient's phone number of a send. */
  readonly phoneNumber?: string;
}

/** A fault and the requests that it applies to. */
export interface FaultRule {
  readonly match: FaultMatch;
  readonly fault: Fault;
  /** Number of requests that the rule still applies to. Null: until the rules are cleared. */
  readonly remaining: number | null;
  /** Share of the matching requests that the rule applies to, from 0 to 1. */
  readonly probability: number;
}

/** Properties of a request that a rule can match. */
export interface FaultTarget {
  readonly method: string;
  readonly path: string;
  readonly contactId: string | null;
  readonly phoneNumber: string | null;
}

interface ActiveRule extends Omit<FaultRule, 'remaining'> {
  readonly path: RegExp | null;
  remaining: number | null;
}

/**
 * Chooses the fault of each request: the first matching rule applies. A rule without remaining requests is
 * removed.
 */
export class Faults {
  #rules: ActiveRule[] = [];

  /** @param random called for each draw, because a reset replaces the generator */
  constructor(private readonly random: () => Random) {}

  /** Adds a rule at the end. @throws SyntaxError if the path is not a valid regular expression */
  add(rule: FaultRule): void {
    const path = rule.match.path === undefined ? null : new RegExp(rule.match.path, 'u');
    this.#rules.push({ ...rule, path });
  }

  /**
   * Returns the fault of a request, or null.
   * @param early true before the body of a send is read
   */
  take(target: FaultTarget, early: boolean): Fault | null {
    for (const rule of this.#rules) {
      if ((rule.fault.kind === 'resetDuringUpload') !== early || !matches(rule, target)) continue;
      if (rule.probability < 1 && !this.random().chance(rule.probability)) continue;
      if (rule.remaining !== null) {
        rule.remaining -= 1;
        if (rule.remaining <= 0) this.#rules = this.#rules.filter((other) => other !== rule);
      }
      return rule.fault;
    }
    return null;
  }

  clear(): void {
    this.#rules = [];
  }

  list(): FaultRule[] {
    return this.#rules.map(({ match, fault, remaining, probability }) => ({
      match,
      fault,
      remaining,
      probability,
    }));
  }
}

function matches(rule: ActiveRule, target: FaultTarget): boolean {
  const { method, contactId, phoneNumber } = rule.match;
  if (method !== undefined && method.toUpperCase() !== target.method) return false;
  if (contactId !== undefined && contactId !== target.contactId) return false;
  if (phoneNumber !== undefined && phoneNumber !== target.phoneNumber) return false;
  return rule.path === null || rule.path.test(target.path);
}
