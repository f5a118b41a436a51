/** What is remembered of a contact was written by something else, or is damaged. */
export class DamagedSnapshotError extends Error {
  constructor() {
    super('What is remembered of a contact cannot be read.');
    this.name = 'DamagedSnapshotError';
  }
}

const MOST_BYTES_OF_A_NUMBER = 8;

/** Writes small records byte by byte. */
export class PackedWriter {
  private readonly bytes: number[] = [];

  byte(value: number): this {
    this.bytes.push(value & 0xff);
    return this;
  }

  /** A whole number from 0 to 2^53 - 1, seven bits a byte: small numbers are short. */
  number(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.bytes.push((rest % 0x80) | 0x80);
    this.bytes.push(rest);
    return this;
  }

  /** As many as 32 bits, always in four bytes. */
  bits32(value: number): this {
    return this.bits16(value >>> 16).bits16(value);
  }

  bits16(value: number): this {
    return this.byte(value >>> 8).byte(value);
  }

  /** Any number at all. */
  float(value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    this.bytes.push(...bytes);
    return this;
  }

  /** With their length before them. */
  block(block: Uint8Array): this {
    this.number(block.length);
    this.bytes.push(...block);
    return this;
  }

  done(): Buffer {
    return Buffer.from(this.bytes);
  }
}

/** Reads what {@link PackedWriter} wrote. Every method throws {@link DamagedSnapshotError} where it cannot. */
export class PackedReader {
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
    for (let n = 0, place = 1; n < MOST_BYTES_OF_A_NUMBER; n += 1, place *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * place;
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
    }
    throw new DamagedSnapshotError();
  }

  /** Unsigned. */
  bits32(): number {
    return this.bits16() * 0x1_00_00 + this.bits16();
  }

  bits16(): number {
    return (this.byte() << 8) | this.byte();
  }

  /** So many bytes in hexadecimal. */
  hex(length: number): string {
    return this.take(length).toString('hex');
  }

  float(): number {
    return this.take(8).readDoubleBE();
  }

  block(): Buffer {
    return this.take(this.number());
  }

  /** To be called at the end: nothing may be left over. */
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
