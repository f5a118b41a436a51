import { styleText } from 'node:util';
import { printable } from './printable.js';
import { Table } from './table.js';

/** The part of a stream that output needs. */
export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** A column of a list. */
export interface Column<T> {
  title: string;
  value: (row: T) => string | number | boolean | null | undefined;
}

/** What a style of text means. */
export type Tone = 'good' | 'bad' | 'warning' | 'quiet' | 'strong';

const STYLES = { good: 'green', bad: 'red', warning: 'yellow', quiet: 'dim', strong: 'bold' } as const;

/** Number of rows of a list that are aligned and printed at a time. */
const BLOCK_ROWS = 500;

/** Prints what a command found: for people, or as JSON for programs. */
export class Output {
  constructor(
    private readonly stdout: TextStream,
    private readonly stderr: TextStream,
    /** True if the output is for programs: one JSON value per line. */
    readonly isJson: boolean,
    /** False if the output has no colors, even on a terminal. */
    private readonly wantsColor: boolean,
  ) {}

  /** True if the output goes to a terminal, on which later output can replace it. */
  get isInteractive(): boolean {
    return !this.isJson && this.stdout.isTTY === true;
  }

  /** Prints a value for programs, or its text for people. */
  result(value: object, text: string | (() => string)): void {
    if (this.isJson) this.json(value);
    else this.line(typeof text === 'string' ? text : text());
  }

  /** Prints all fields of an object. Fields without a value are left out for people. */
  fields(value: object): void {
    this.result(value, () => fieldLines(value).join('\n'));
  }

  /**
   * Prints a list: as a table for people, as one JSON object per line for programs.
   * @param limit maximum number of rows; if rows are left out, a remark on standard error says so
   */
  async list<T extends object>(
    rows: AsyncIterable<T> | Iterable<T>,
    columns: readonly Column<T>[],
    limit: number,
  ): Promise<void> {
    const table = new Table();
    let block = [columns.map(({ title }) => this.styled('quiet', title))];
    const print = (): void => {
      if (block.length > 0) this.line(table.lines(block).join('\n'));
      block = [];
    };
    let count = 0;
    let hasMore = false;
    try {
      for await (const row of rows) {
        if (count === limit) {
          hasMore = true;
          break;
        }
        count += 1;
        if (this.isJson) this.json(row);
        else block.push(columns.map(({ value }) => cell(value(row))));
        if (block.length > BLOCK_ROWS) print();
      }
    } finally {
      // After an error, the rows that were read before it are printed.
      if (count > 0 && !this.isJson) print();
    }
    if (count === 0 && !this.isJson) this.line('None found.');
    if (hasMore) this.note(`Only the first ${limit} are shown. Show more with --limit.`);
  }

  /** Prints a line for people and programs. The text must be printable. */
  line(text: string): void {
    this.stdout.write(`${text}\n`);
  }

  /** Prints a JSON value on one line. */
  json(value: object): void {
    this.line(jsonText(value));
  }

  /** Prints a remark to standard error, where it does not mix with results. */
  note(text: string): void {
    if (this.isJson) this.noteJson({ note: text });
    else this.stderr.write(`${this.styledFor(this.stderr, 'quiet', text)}\n`);
  }

  /** Prints a remark for programs to standard error, as JSON. */
  noteJson(value: object): void {
    this.stderr.write(`${jsonText(value)}\n`);
  }

  /** Clears the screen before the next frame of a continuous display. */
  clear(): void {
    if (this.isInteractive) this.stdout.write('\u001b[2J\u001b[H');
  }

  /** Returns text for standard output in the style of a tone, or unchanged if colors are off. */
  styled(tone: Tone, text: string): string {
    return this.styledFor(this.stdout, tone, text);
  }

  private styledFor(stream: TextStream, tone: Tone, text: string): string {
    const hasColor = this.wantsColor && !this.isJson && stream.isTTY === true;
    return hasColor ? styleText(STYLES[tone], text, { validateStream: false }) : text;
  }
}

/** Returns JSON on one line. Escapes control characters that JSON allows but on which some terminals act. */
function jsonText(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function cell(value: string | number | boolean | null | undefined): string {
  return value === null || value === undefined || value === '' ? '-' : printable(String(value));
}

/** Returns `name  value` for each field that has a value; nested objects are indented. */
function fieldLines(value: object, indent = ''): string[] {
  const entries = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.flatMap(([name, each]: [string, unknown]) => {
    if (!isNested(each)) return [`${indent}${printable(name).padEnd(width)}  ${textOf(each)}`];
    return [`${indent}${printable(name)}`, ...nestedLines(each, `${indent}  `)];
  });
}

function nestedLines(value: object, indent: string): string[] {
  if (!Array.isArray(value)) return fieldLines(value, indent);
  return value.flatMap((each: unknown) =>
    typeof each === 'object' && each !== null
      ? fieldLines(each, `${indent}  `).map((line, index) =>
          index === 0 ? line.replace(/^(\s*) {2}/, '$1- ') : line,
        )
      : [`${indent}${textOf(each)}`],
  );
}

/** True for objects with fields, and for lists that contain objects. Both are printed on lines of their own. */
function isNested(value: unknown): value is object {
  if (Array.isArray(value)) return value.some((each) => typeof each === 'object');
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '-' : printable(value.join(', '));
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
