import { removeUrlSignature } from './signed-url.js';

/**
 * Multipliers for the two 32-bit halves of the hash. They are odd, because multiplication by an odd number
 * loses no bits.
 */
const HIGH_FACTOR = 0x9e3779b1;
const LOW_FACTOR = 0x85ebca77;
const HIGH_START = 0x2545f491;
const LOW_START = 0x4f6cdd1d;

/**
 * Numbers that stand for the types of values. The number of a value's type is hashed before the value, so
 * that the number 1 and the text "1" have different hashes.
 */
const ABSENT = 1;
const NULL = 2;
const TRUE = 3;
const FALSE = 4;
const NUMBER = 5;
const TEXT = 6;
const LIST = 7;
const RECORD = 8;
/**
 * Number that is hashed instead of a value whose changes must not change the hash, such as the value of a
 * muted field.
 */
const IGNORED = 9;

/**
 * Size of the buffer into which texts are copied to be hashed, in UTF-16 code units. Texts of this length or longer
 * are hashed in several pieces. Reading the code units from the buffer is ten times as fast as calling `charCodeAt`.
 */
const MAX_UNITS = 4_096;
/**
 * Texts of at most this many UTF-16 code units are hashed with `charCodeAt`. For longer texts, hashing from a
 * buffer is faster.
 */
const FEW_UNITS = 6;
const scratch = Buffer.alloc(2 * MAX_UNITS);
const units = new Uint16Array(scratch.buffer, scratch.byteOffset, MAX_UNITS);
const words = new Int32Array(scratch.buffer, scratch.byteOffset, MAX_UNITS / 2);
const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/**
 * Computes one 64-bit hash of several JSON values, which are added one after another. The order of an object's keys
 * does not matter. The values are hashed directly, because converting them to JSON text first would take longer than
 * the hashing itself.
 *
 * Two texts that differ in exactly one UTF-16 code unit never have the same hash. The hash is not
 * collision-resistant: the sender of a message could find a second text with the same hash. In that case Tidings
 * would only miss a change of that message.
 */
export class JsonHasher {
  high = HIGH_START;
  low = LOW_START;
  /**
   * If true, the signatures of URLs in string values are left out of the hash; see {@link removeUrlSignature}.
   */
  ignoresSignatures = false;
  private ignoredSignature = false;

  restart(): void {
    this.high = HIGH_START;
    this.low = LOW_START;
  }

  add(value: unknown): void {
    if (typeof value === 'string') this.addText(this.ignoresSignatures ? this.normalized(value) : value);
    else if (typeof value === 'number') this.addNumber(value);
    else if (typeof value === 'boolean') this.addBits(value ? TRUE : FALSE);
    else if (value === null) this.addBits(NULL);
    else if (Array.isArray(value)) this.addList(value);
    else if (typeof value === 'object') this.addRecord(value as Readonly<Record<string, unknown>>);
    else this.addBits(ABSENT);
  }

  /** Returns true if the signature of a URL was left out of the hash since the last call of this method. */
  takeIgnoredSignature(): boolean {
    const ignored = this.ignoredSignature;
    this.ignoredSignature = false;
    return ignored;
  }

  /** Adds a fixed number to the hash in place of a value that is left out. */
  addIgnored(): void {
    this.addBits(IGNORED);
  }

  /**
   * Adds the members of an object to the hash. The order of the members does not matter.
   * @param isLeftOut returns true for the key of a member that must not be hashed
   */
  addRecord(
    record: Readonly<Record<string, unknown>>,
    isLeftOut: (key: string) => boolean = leavesOutNothing,
  ): void {
    const { high, low } = this;
    let [highSum, lowSum, count] = [0, 0, 0];
    for (const key in record) {
      if (isLeftOut(key)) continue;
      this.restart();
      this.addText(key);
      this.add(record[key]);
      this.finish();
      highSum = (highSum + this.high) | 0;
      lowSum = (lowSum + this.low) | 0;
      count += 1;
    }
    this.high = high;
    this.low = low;
    this.addBits(RECORD);
    this.addBits(count);
    this.addBits(highSum);
    this.addBits(lowSum);
  }

  addText(text: string): void {
    this.addBits(TEXT);
    this.addBits(text.length);
    if (text.length <= FEW_UNITS) {
      for (let i = 0; i < text.length; i += 1) this.addBits(text.charCodeAt(i));
    } else if (text.length < MAX_UNITS) {
      this.addUnits(text);
    } else {
      for (let at = 0; at < text.length; at += MAX_UNITS - 1)
        this.addUnits(text.slice(at, at + MAX_UNITS - 1));
    }
  }

  private normalized(text: string): string {
    const rest = removeUrlSignature(text);
    if (rest.length !== text.length) this.ignoredSignature = true;
    return rest;
  }

  /**
   * Adds the characters of a text to the hash, by copying them into a buffer.
   * @param text a text of fewer than {@link MAX_UNITS} UTF-16 code units
   */
  private addUnits(text: string): void {
    scratch.write(text, 'utf16le');
    units[text.length] = 0;
    let { high, low } = this;
    for (let i = 0; 2 * i < text.length; i += 1) {
      const word = words[i] ?? 0;
      high = Math.imul(((high << 5) | (high >>> 27)) ^ word, HIGH_FACTOR);
      low = Math.imul(((low << 5) | (low >>> 27)) ^ word, LOW_FACTOR);
    }
    this.high = high;
    this.low = low;
  }

  /** Adds an integer of at most 32 bits to the hash. */
  addBits(bits: number): void {
    this.high = Math.imul(((this.high << 5) | (this.high >>> 27)) ^ bits, HIGH_FACTOR);
    this.low = Math.imul(((this.low << 5) | (this.low >>> 27)) ^ bits, LOW_FACTOR);
  }

  /** Completes the hash: every bit of the added values then affects every bit of the hash. */
  finish(): void {
    this.high = spread(this.high ^ this.low);
    this.low = spread(Math.imul(this.low, HIGH_FACTOR) ^ this.high);
  }

  private addNumber(value: number): void {
    // 0 and -0 must have the same hash, because `JSON.stringify` writes both as 0.
    double[0] = value === 0 ? 0 : value;
    this.addBits(NUMBER);
    this.addBits(halves[0] ?? 0);
    this.addBits(halves[1] ?? 0);
  }

  private addList(list: readonly unknown[]): void {
    this.addBits(LIST);
    this.addBits(list.length);
    for (const value of list) this.add(value);
  }
}

const leavesOutNothing = (): boolean => false;

/**
 * Maps a 32-bit integer to a 32-bit integer. Different integers have different results. Each bit of the
 * result depends on all bits of the input.
 */
function spread(bits: number): number {
  let spreading = bits;
  spreading = Math.imul(spreading ^ (spreading >>> 16), 0x85ebca6b);
  spreading = Math.imul(spreading ^ (spreading >>> 13), 0xc2b2ae35);
  return spreading ^ (spreading >>> 16);
}
