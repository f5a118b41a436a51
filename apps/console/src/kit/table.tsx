import type { ComponentChildren, JSX } from 'preact';

/** A column of a table. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** True for numbers: they are aligned at their end. */
  isNumber?: boolean;
  /** True if only screen readers read the title, for example above check boxes. */
  isTitleHidden?: boolean;
}

interface TableProps<Row> {
  /** What the table lists, for screen readers. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Marks the row that a detail beside the table shows. */
  isCurrent?: (row: Row) => boolean;
}

/** A table. On narrow screens, each row becomes a card, whose cells name their column. */
export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { caption, columns, rows, keyOf, isCurrent } = props;
  return (
    <div class="table" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber, isTitleHidden }) => (
              <th key={title} scope="col" class={isNumber === true ? 'number' : undefined}>
                {isTitleHidden === true ? <span class="hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} aria-current={isCurrent?.(row) === true ? 'true' : undefined}>
              {columns.map(({ title, cell, isNumber, isTitleHidden }) => (
                <td
                  key={title}
                  data-title={isTitleHidden === true ? undefined : title}
                  class={isNumber === true ? 'number' : undefined}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A cell without a value. On narrow screens it is left out. */
export function None(): JSX.Element {
  return <span class="quiet none">–</span>;
}

/** Names and values of one object. Entries without a value are left out. */
export function Facts(props: { of: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {props.of
        .filter(([, value]) => value !== undefined && value !== null && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
