import type { ReactNode } from "react";

export type Column<Row> = {
  head: string;
  cell: (row: Row) => ReactNode;
  /** The cell that names the row. One column has it. */
  isRowHead?: true;
  /** Figures are aligned at their end. */
  align?: "end";
  /** Cells that do not wrap, such as times. */
  isTight?: true;
};

type Props<Row> = {
  /** Read by screen readers; the heading above the table shows it to others. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** What is shown without rows: an `EmptyState`. */
  empty: ReactNode;
  /** Each row is one line: longer texts are cut off. */
  isDense?: true;
};

/** A list. On narrow screens each row is a card, in which the head of the column stands before each cell. */
export function Table<Row>({ caption, columns, rows, rowKey, empty, isDense }: Props<Row>) {
  if (rows.length === 0) return empty;
  return (
    <div className="table-frame">
      <table className={isDense ? "table dense" : "table"}>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, align }) => (
              <th key={head} scope="col" className={align}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <Cell key={column.head} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column: { head, cell, isRowHead, align, isTight }, row }: { column: Column<Row>; row: Row }) {
  const className = [align, isTight && "tight"].filter(Boolean).join(" ") || undefined;
  if (isRowHead) {
    return (
      <th scope="row" className={className}>
        {cell(row)}
      </th>
    );
  }
  return (
    <td data-head={head} className={className}>
      {cell(row)}
    </td>
  );
}
