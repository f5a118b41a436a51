import type { JsonObject } from '../json.js';

/** A scheduled action. Refers to contacts and messages by id, so that it can be saved in a file. */
export type ScheduledAction =
  | { readonly what: 'showContact'; readonly contactSerial: number }
  | { readonly what: 'showMessage'; readonly messageId: string }
  | { readonly what: 'attach'; readonly messageId: string; readonly attachments: JsonObject[] }
  | { readonly what: 'deliver'; readonly messageId: string }
  | { readonly what: 'read'; readonly messageId: string }
  | { readonly what: 'reply'; readonly contactSerial: number; readonly text: string };

/** A scheduled action with its time. */
export interface Scheduled {
  /** World time at which the action is due, in ms since 1970. */
  readonly due: number;
  /** Order of scheduling. Of two actions with the same time, the lower order runs first. */
  readonly order: number;
  readonly happening: ScheduledAction;
}

/** Scheduled actions by due time, in a binary heap, which is fast even with a hundred thousand pending actions. */
export class Timetable {
  #heap: Scheduled[] = [];
  #order = 0;

  get nextDue(): number | null {
    return this.#heap[0]?.due ?? null;
  }

  add(due: number, happening: ScheduledAction): void {
    this.#order += 1;
    this.#heap.push({ due, order: this.#order, happening });
    this.#rise(this.#heap.length - 1);
  }

  /** Removes and returns the first action that is due at `time`, or undefined. */
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

  /** Returns the pending actions in the order in which they run. */
  pending(): Scheduled[] {
    return this.#heap.slice().sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  restore(pending: readonly Scheduled[]): void {
    // A sorted array is a valid heap.
    this.#heap = pending.slice().sort((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#order = pending.reduce((max, { order }) => Math.max(max, order), 0);
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
