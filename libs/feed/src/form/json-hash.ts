import { withoutSignature } from './signed-address.js';

/** Two lanes of 32 bits each, with a multiplier of their own; both are odd, so that no step loses anything. */
const HIGH_FACTOR = 0x9e3779b1;
const LOW_FACTOR = 0x85ebca77;
const HIGH_START = 0x2545f491;
const LOW_START = 0x4f6cdd1d;

/** What kind of value follows: without it, the number 1 and the text "1" could look alike. */
const ABSENT = 1;
const NULL = 2;
const TRUE = 3;
const FALSE = 4;
const NUMBER = 5;
const TEXT = 6;
const LIST = 7;
const RECORD = 8;
/** A value that is not looked at. */
const IGNORED = 9;

/** Texts are read 32 bits at a time from here: asking a string for its characters one by one takes ten times as long. */
const MOST_UNITS = 4_096;
/** Up to this length it does not. */
const FEW_UNITS = 6;
const scratch = Buffer.alloc(2 * MOST_UNITS);
const units = new Uint16Array(scratch.buffer, scratch.byteOffset, MOST_UNITS);
const words = new Int32Array(scratch.buffer, scratch.byteOffset, MOST_UNITS / 2);

const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/**
 * A hash of 64 bits over JSON values, fed one after the other. It takes them as they are, without making a text of them
 * first, which is what costs most; and it does not depend on the order of an object's keys.
 *
 * It spreads well, and texts that differ in one character never share it. It is no guard against somebody who looks for
 * two values with the same hash: who could, would but hide a change of a message of theirs.
 */
export class JsonHash {
  high = HIGH_START;
  low = LOW_START;
  /** Whether signatures of addresses are left out, keys aside; see {@link withoutSignature}. */
  ignoresSignatures = false;
  private ignoredSignature = false;

  restart(): void {
    this.high = HIGH_START;
    this.low = LOW_START;
  }

  add(value: unknown): void {
    if (typeof value === 'string') this.addText(this.ignoresSignatures ? this.levelled(value) : value);
    else if (typeof value === 'number') this.addNumber(value);
    else if (typeof value === 'boolean') this.addBits(value ? TRUE : FALSE);
    else if (value === null) this.addBits(NULL);
    else if (Array.isArray(value)) this.addList(value);
    else if (typeof value === 'object') this.addRecord(value as Readonly<Record<string, unknown>>);
    else this.addBits(ABSENT);
  }

  /** Whether the signature of an address was left out since this was last asked. */
  takeIgnoredSignature(): boolean {
    const ignored = this.ignoredSignature;
    this.ignoredSignature = false;
    return ignored;
  }

  /** In the place of a value that is not looked at. */
  addIgnored(): void {
    this.addBits(IGNORED);
  }

  /** The members of an object, in whatever order they come. */
  addRecord(
    record: Readonly<Record<string, unknown>>,
    isLeftOut: (key: string) => boolean = isNothing,
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
    } else if (text.length < MOST_UNITS) {
      this.addUnits(text);
    } else {
      for (let at = 0; at < text.length; at += MOST_UNITS - 1)
        this.addUnits(text.slice(at, at + MOST_UNITS - 1));
    }
  }

  private levelled(text: string): string {
    const rest = withoutSignature(text);
    if (rest.length !== text.length) this.ignoredSignature = true;
    return rest;
  }

  /** @param text shorter than {@link MOST_UNITS} */
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

  /** @param bits as many as 32 */
  addBits(bits: number): void {
    this.high = Math.imul(((this.high << 5) | (this.high >>> 27)) ^ bits, HIGH_FACTOR);
    this.low = Math.imul(((this.low << 5) | (this.low >>> 27)) ^ bits, LOW_FACTOR);
  }

  /** Lets every bit that was fed reach every bit of the hash. */
  finish(): void {
    this.high = spread(this.high ^ this.low);
    this.low = spread(Math.imul(this.low, HIGH_FACTOR) ^ this.high);
  }

  private addNumber(value: number): void {
    // JSON has one zero.
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

const isNothing = (): boolean => false;

/** A one-to-one scramble of 32 bits in which each bit depends on all. */
function spread(bits: number): number {
  let spreading = bits;
  spreading = Math.imul(spreading ^ (spreading >>> 16), 0x85ebca6b);
  spreading = Math.imul(spreading ^ (spreading >>> 13), 0xc2b2ae35);
  return spreading ^ (spreading >>> 16);
}
