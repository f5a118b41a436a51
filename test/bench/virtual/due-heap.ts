/**
 * Contacts by due time. A contact is a whole number from 0. A binary heap in which the due time of a contact
 * can change.
 */
export class DueHeap {
  private readonly heap: Int32Array;
  private readonly positions: Int32Array;
  private readonly due: Float64Array;
  private size = 0;

  constructor(contacts: number) {
    this.heap = new Int32Array(contacts);
    this.positions = new Int32Array(contacts).fill(-1);
    this.due = new Float64Array(contacts);
  }

  /** Returns the contact with the earliest due time, or undefined if the heap is empty. */
  first(): number | undefined {
    return this.size === 0 ? undefined : this.heap[0];
  }

  /** Returns the due time of a contact. */
  dueOf(contact: number): number {
    return this.due[contact] ?? Infinity;
  }

  /** Adds a contact or changes its due time. */
  set(contact: number, due: number): void {
    let position = this.positions[contact] ?? -1;
    if (position < 0) {
      position = this.size;
      this.size += 1;
      this.put(position, contact);
    }
    const before = this.due[contact] ?? 0;
    this.due[contact] = due;
    if (due < before) this.moveUp(position);
    else {
      this.moveUp(position);
      this.moveDown(this.positions[contact] ?? 0);
    }
  }

  private moveUp(from: number): void {
    const contact = this.at(from);
    let position = from;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      const above = this.at(parent);
      if (this.dueOf(above) <= this.dueOf(contact)) break;
      this.put(position, above);
      position = parent;
    }
    this.put(position, contact);
  }

  private moveDown(from: number): void {
    const contact = this.at(from);
    let position = from;
    for (;;) {
      let child = 2 * position + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && this.dueOf(this.at(child + 1)) < this.dueOf(this.at(child))) child += 1;
      const below = this.at(child);
      if (this.dueOf(below) >= this.dueOf(contact)) break;
      this.put(position, below);
      position = child;
    }
    this.put(position, contact);
  }

  private at(position: number): number {
    return this.heap[position] ?? 0;
  }

  private put(position: number, contact: number): void {
    this.heap[position] = contact;
    this.positions[contact] = position;
  }
}
