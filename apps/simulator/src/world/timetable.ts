import type { JsonObject } from '../json.js';

/** Something that will happen by itself. It names things by id, so that it survives being written to a file. */
export type Happening =
  | { readonly what: 'showContact'; readonly contactSerial: number }
  | { readonly what: 'showMessage'; readonly messageId: string }
  | { readonly what: 'attach'; readonly messageId: string; readonly attachments: JsonObject[] }
  | { readonly what: 'deliver'; readonly messageId: string }
  | { readonly what: 'read'; readonly messageId: string }
  | { readonly what: 'reply'; readonly contactSerial: number; readonly text: string };

export interface Scheduled {
  /** The world's time at which it is due. */
  readonly due: number;
  /** Breaks ties: what was scheduled first happens first. */
  readonly order: number;
  readonly happening: Happening;
}

/** What is due when: a binary heap, so that a hundred thousand pending things cost little. */
export class Timetable {
  #heap: Scheduled[] = [];
  #order = 0;

  get nextDue(): number | null {
    return this.#heap[0]?.due ?? null;
  }

  add(due: number, happening: Happening): void {
    this.#order += 1;
    this.#heap.push({ due, order: this.#order, happening });
    this.#rise(this.#heap.length - 1);
  }

  /** Takes the first thing that is due at `time`, or undefined. */
  take(time: number): Scheduled | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.due > time) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink();
    }
    return first;
  }

  clear(): void {
    this.#heap = [];
  }

  /** What is pending, in the order in which it will happen. */
  pending(): Scheduled[] {
    return this.#heap.slice().sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  restore(pending: readonly Scheduled[]): void {
    // A sorted array is a heap.
    this.#heap = pending.slice().sort((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#order = pending.reduce((most, { order }) => Math.max(most, order), 0);
  }

  #rise(start: number): void {
    let child = start;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#swapIfBefore(child, parent)) return;
      child = parent;
    }
  }

  #sink(): void {
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      const right = left + 1;
      const smaller = this.#isBeforeAt(right, left) ? right : left;
      if (!this.#swapIfBefore(smaller, parent)) return;
      parent = smaller;
    }
  }

  #isBeforeAt(one: number, other: number): boolean {
    const a = this.#heap[one];
    const b = this.#heap[other];
    return a !== undefined && b !== undefined && isBefore(a, b);
  }

  #swapIfBefore(one: number, other: number): boolean {
    const a = this.#heap[one];
    const b = this.#heap[other];
    if (a === undefined || b === undefined || !isBefore(a, b)) return false;
    this.#heap[one] = b;
    this.#heap[other] = a;
    return true;
  }
}

function isBefore(a: Scheduled, b: Scheduled): boolean {
  return a.due === b.due ? a.order < b.order : a.due < b.due;
}
