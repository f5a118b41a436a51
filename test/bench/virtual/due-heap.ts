/** Contacts (whole numbers from 0) by when they are due: a binary heap in which a contact's time can be changed. */
export class DueHeap {
  private readonly heap: Int32Array;
  private readonly place: Int32Array;
  private readonly due: Float64Array;
  private size = 0;

  constructor(contacts: number) {
    this.heap = new Int32Array(contacts);
    this.place = new Int32Array(contacts).fill(-1);
    this.due = new Float64Array(contacts);
  }

  /** The contact that is due first, or undefined where there is none. */
  first(): number | undefined {
    return this.size === 0 ? undefined : this.heap[0];
  }

  dueOf(contact: number): number {
    return this.due[contact] ?? Infinity;
  }

  set(contact: number, due: number): void {
    let place = this.place[contact] ?? -1;
    if (place < 0) {
      place = this.size;
      this.size += 1;
      this.put(place, contact);
    }
    const before = this.due[contact] ?? 0;
    this.due[contact] = due;
    if (due < before) this.up(place);
    else {
      this.up(place);
      this.down(this.place[contact] ?? 0);
    }
  }

  private up(from: number): void {
    const contact = this.at(from);
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.at(parent);
      if (this.dueOf(above) <= this.dueOf(contact)) break;
      this.put(place, above);
      place = parent;
    }
    this.put(place, contact);
  }

  private down(from: number): void {
    const contact = this.at(from);
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && this.dueOf(this.at(child + 1)) < this.dueOf(this.at(child))) child += 1;
      const below = this.at(child);
      if (this.dueOf(below) >= this.dueOf(contact)) break;
      this.put(place, below);
      place = child;
    }
    this.put(place, contact);
  }

  private at(place: number): number {
    return this.heap[place] ?? 0;
  }

  private put(place: number, contact: number): void {
    this.heap[place] = contact;
    this.place[contact] = place;
  }
}
