import type { Fault } from './fault-kinds.js';
import type { Random } from './world/random.js';

/** Which requests a rule is for; every condition given must hold. */
export interface FaultMatch {
  readonly method?: string;
  /** A regular expression on the path with its query, such as `/messages\?`. */
  readonly path?: string;
  /** The contact whose messages are read; for a send, the contact of its phone number. */
  readonly contactId?: string;
  /** The recipient of a send. */
  readonly phoneNumber?: string;
}

export interface FaultRule {
  readonly match: FaultMatch;
  readonly fault: Fault;
  /** How many requests it still strikes; null: until it is cleared. */
  readonly remaining: number | null;
  /** Of the requests that match, the share it strikes. */
  readonly probability: number;
}

/** What a rule can look at. */
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

/** The queue of faults: the first rule that matches a request strikes it, and one that is used up is gone. */
export class Faults {
  #rules: ActiveRule[] = [];

  /** @param random asked anew at each draw, for a reset brings another. */
  constructor(private readonly random: () => Random) {}

  /** @throws SyntaxError for a path that is no regular expression. */
  add(rule: FaultRule): void {
    const path = rule.match.path === undefined ? null : new RegExp(rule.match.path, 'u');
    this.#rules.push({ ...rule, path });
  }

  /** The fault for a request, if any strikes it. `early`: the body of a send was not read yet. */
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
