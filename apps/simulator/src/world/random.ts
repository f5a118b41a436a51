/** A seeded random number generator (mulberry32). It is small and fast, and its state is one number. */
export class Random {
  #state: number;

  constructor(state: number) {
    this.#state = state >>> 0;
  }

  get state(): number {
    return this.#state;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns a whole number from 0 (inclusive) to `bound` (exclusive). */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** Returns true with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns a random hexadecimal text. */
  hex(digits: number): string {
    let result = '';
    while (result.length < digits) result += this.below(65_536).toString(16).padStart(4, '0');
    return result.slice(0, digits);
  }

  /** Returns a shuffled copy (Fisher-Yates). */
  shuffled<T>(items: readonly T[]): T[] {
    const result = items.slice();
    for (let end = result.length - 1; end > 0; end--) {
      const other = this.below(end + 1);
      const kept = result[end] as T;
      result[end] = result[other] as T;
      result[other] = kept;
    }
    return result;
  }
}

/**
 * One random stream per purpose. An additional read of a shuffled list, for example, does not change the ids
 * of later messages.
 */
export interface RandomStreams {
  readonly ids: Random;
  readonly decisions: Random;
  readonly shuffles: Random;
  readonly faults: Random;
}

export type RandomState = { readonly [K in keyof RandomStreams]: number };

export function streamsFromSeed(seed: number): RandomStreams {
  const mix = (salt: number): number => new Random(seed ^ salt).next() * 4_294_967_296;
  return streamsFromState({
    ids: mix(0x1d5),
    decisions: mix(0xdec1de),
    shuffles: mix(0x5aff1e),
    faults: mix(0xfa017),
  });
}

export function streamsFromState(state: RandomState): RandomStreams {
  return {
    ids: new Random(state.ids),
    decisions: new Random(state.decisions),
    shuffles: new Random(state.shuffles),
    faults: new Random(state.faults),
  };
}

export function stateOf(streams: RandomStreams): RandomState {
  return {
    ids: streams.ids.state,
    decisions: streams.decisions.state,
    shuffles: streams.shuffles.state,
    faults: streams.faults.state,
  };
}
