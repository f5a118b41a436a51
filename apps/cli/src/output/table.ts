import widthOf from 'fast-string-width';

const BETWEEN_COLUMNS = '  ';

/** Aligns the columns of rows that come in blocks. A column becomes wider with a later block, never narrower. */
export class Table {
  private widths: readonly number[] = [];

  /** Returns a line per row. The cells may contain styles. */
  lines(rows: readonly (readonly string[])[]): string[] {
    const cells = rows.map((row) => row.map((text) => ({ text, width: widthOf(text) })));
    for (const row of cells)
      this.widths = row.map(({ width }, column) => Math.max(width, this.widths[column] ?? 0));
    return cells.map((row) =>
      row
        .map(({ text, width }, column) => text + ' '.repeat((this.widths[column] ?? width) - width))
        .join(BETWEEN_COLUMNS)
        .trimEnd(),
    );
  }
}
