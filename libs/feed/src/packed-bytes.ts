/** Thrown if the stored bytes of a snapshot are damaged or have an unknown format. */
export class DamagedSnapshotError extends Error {
  constructor() {
    super('The stored snapshot of a contact cannot be decoded.');
    this.name = 'DamagedSnapshotError';
  }
}

const MAX_NUMBER_BYTES = 8;

/** Packs numbers and blocks of bytes into one compact sequence of bytes. */
export class PackedBytesWriter {
  private readonly bytes: number[] = [];

  byte(value: number): this {
    this.bytes.push(value & 0xff);
    return this;
  }

  /** Writes an integer from 0 to 2^53 - 1 with seven bits per byte, so that small numbers are short. */
  number(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.bytes.push((rest % 0x80) | 0x80);
    this.bytes.push(rest);
    return this;
  }

  /** Writes the lowest 32 bits of a number as four bytes, most significant byte first. */
  bits32(value: number): this {
    return this.bits16(value >>> 16).bits16(value);
  }

  bits16(value: number): this {
    return this.byte(value >>> 8).byte(value);
  }

  /** Writes a floating-point number of double precision as eight bytes. */
  float(value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    this.bytes.push(...bytes);
    return this;
  }

  /** Writes the length of a block of bytes, and then the bytes. */
  block(block: Uint8Array): this {
    this.number(block.length);
    this.bytes.push(...block);
    return this;
  }

  done(): Buffer {
    return Buffer.from(this.bytes);
  }
}

/**
 * Reads bytes that {@link PackedBytesWriter} packed. Every method throws {@link DamagedSnapshotError} on invalid
 * bytes.
 */
export class PackedBytesReader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  byte(): number {
    const value = this.bytes[this.at];
    if (value === undefined) throw new DamagedSnapshotError();
    this.at += 1;
    return value;
  }

  number(): number {
    let value = 0;
    for (let n = 0, factor = 1; n < MAX_NUMBER_BYTES; n += 1, factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
    }
    throw new DamagedSnapshotError();
  }

  /** Reads four bytes as an unsigned integer, most significant byte first. */
  bits32(): number {
    return this.bits16() * 0x1_00_00 + this.bits16();
  }

  bits16(): number {
    return (this.byte() << 8) | this.byte();
  }

  /** Reads `length` bytes as hexadecimal text. */
  hex(length: number): string {
    return this.take(length).toString('hex');
  }

  float(): number {
    return this.take(8).readDoubleBE();
  }

  block(): Buffer {
    return this.take(this.number());
  }

  /**
   * Throws a {@link DamagedSnapshotError} if some bytes have not been read. Call this method after the last
   * read.
   */
  end(): void {
    if (this.at !== this.bytes.length) throw new DamagedSnapshotError();
  }

  private take(length: number): Buffer {
    const end = this.at + length;
    if (end > this.bytes.length) throw new DamagedSnapshotError();
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }
}
