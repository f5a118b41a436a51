import { withoutSignature } from './signed-url.js';

/** Odd multipliers of the two 32-bit lanes. Multiplication by an odd number loses no bits. */
const HIGH_FACTOR = 0x9e3779b1;
const LOW_FACTOR = 0x85ebca77;
const HIGH_START = 0x2545f491;
const LOW_START = 0x4f6cdd1d;

/** Type tags, hashed before each value, so that the number 1 and the text "1" differ. */
const ABSENT = 1;
const NULL = 2;
const TRUE = 3;
const FALSE = 4;
const NUMBER = 5;
const TEXT = 6;
const LIST = 7;
const RECORD = 8;
/** Type tag that is hashed in place of an ignored value. */
const IGNORED = 9;

/** Longer texts are hashed in pieces of this many UTF-16 units, copied into a buffer: ten times as fast as charCodeAt. */
const MAX_UNITS = 4_096;
/** Maximum length of a text that is hashed with charCodeAt, in UTF-16 units: there, charCodeAt is as fast as a buffer. */
const FEW_UNITS = 6;
const scratch = Buffer.alloc(2 * MAX_UNITS);
const units = new Uint16Array(scratch.buffer, scratch.byteOffset, MAX_UNITS);
const words = new Int32Array(scratch.buffer, scratch.byteOffset, MAX_UNITS / 2);
const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/**
 * 64-bit hash of JSON values, added one after another. Independent of the order of an object's keys. Hashes the values
 * themselves, since serializing them first would cost most of the time.
 *
 * Texts that differ in one character never have the same hash. Not collision-resistant: the sender of a message could find
 * a second text with the same hash, but would only hide a change of that message.
 */
export class JsonHash {
  high = HIGH_START;
  low = LOW_START;
  /** True to leave out the signatures of URLs in string values; see {@link withoutSignature}. */
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

  /** Returns whether a signature was left out since the last call. */
  takeIgnoredSignature(): boolean {
    const ignored = this.ignoredSignature;
    this.ignoredSignature = false;
    return ignored;
  }

  /** Adds the tag of an ignored value. */
  addIgnored(): void {
    this.addBits(IGNORED);
  }

  /** Adds the members of an object; their order does not matter. */
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
    const rest = withoutSignature(text);
    if (rest.length !== text.length) this.ignoredSignature = true;
    return rest;
  }

  /** @param text shorter than {@link MAX_UNITS} */
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

  /** @param bits at most 32 bits */
  addBits(bits: number): void {
    this.high = Math.imul(((this.high << 5) | (this.high >>> 27)) ^ bits, HIGH_FACTOR);
    this.low = Math.imul(((this.low << 5) | (this.low >>> 27)) ^ bits, LOW_FACTOR);
  }

  /** Mixes the state: every bit of the input affects every bit of the hash. */
  finish(): void {
    this.high = spread(this.high ^ this.low);
    this.low = spread(Math.imul(this.low, HIGH_FACTOR) ^ this.high);
  }

  private addNumber(value: number): void {
    // JSON does not distinguish -0 from 0.
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

/** Permutes the 32-bit integers: each bit of the result depends on all bits of the input. */
function spread(bits: number): number {
  let spreading = bits;
  spreading = Math.imul(spreading ^ (spreading >>> 16), 0x85ebca6b);
  spreading = Math.imul(spreading ^ (spreading >>> 13), 0xc2b2ae35);
  return spreading ^ (spreading >>> 16);
}
