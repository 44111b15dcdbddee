import type { ComponentProps, ReactNode } from "react";
import { requireOperator } from "../frame/operator";
import { Section } from "./headings";
import { EmptyState } from "./states";

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
  /** Default: the row's `id`. */
  rowKey?: (row: Row) => string;
  /** What is shown without rows: a title, or an `EmptyState`. */
  empty: ReactNode;
  /** Each row is one line: longer texts are cut off. */
  isDense?: true;
};

/** A list. On narrow screens each row is a card, in which the head of the column stands before each cell. */
export function Table<Row>({ caption, columns, rows, rowKey = idOf, empty, isDense }: Props<Row>) {
  if (rows.length === 0) return typeof empty === "string" ? <EmptyState title={empty} /> : empty;
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

const idOf = (row: unknown) => (row as { id: string }).id;

function Cell<Row>({ column: { head, cell, isRowHead, align, isTight }, row }: { column: Column<Row>; row: Row }) {
  const className = [align, isTight && "tight"].filter(Boolean).join(" ") || undefined;
  const content = { className, children: cell(row) };
  return isRowHead ? <th scope="row" {...content} /> : <td data-head={head} {...content} />;
}

type ListProps<Row> = Props<Row> & ComponentProps<typeof Section> & { nextCursor?: string | null };

/** A section with a table below its children, such as filters, and the links to the table's other pages. */
export function List<Row>({ title, lead, actions, children, nextCursor, ...table }: ListProps<Row>) {
  return (
    <Section title={title} lead={lead} actions={actions}>
      {children}
      <Table {...table} />
      {nextCursor !== undefined && <Pager nextCursor={nextCursor} />}
    </Section>
  );
}

/** Pages back that the URL remembers. Beyond them, "First page" leads back. */
const MAX_PAGES_BACK = 20;

/**
 * Links to the first, the previous and the next page of a list that is read by cursor. They keep the filters. `before` in the
 * URL has the cursors of the pages before this one, since a cursor leads forward only; "-" is that of the first.
 */
export async function Pager({ nextCursor }: { nextCursor: string | null }) {
  const { pageUrl } = await requireOperator();
  const url = new URL(pageUrl, "http://console");
  const current = url.searchParams.get("cursor");
  if (current === null && nextCursor === null) return null;
  const before = url.searchParams.get("before")?.split(".") ?? [];
  const linkWith = (cursor: string | null, pages: readonly string[]): string => {
    const params = new URLSearchParams(url.searchParams);
    for (const name of ["cursor", "before", "done", "formErrors"]) params.delete(name);
    if (cursor !== null) params.set("cursor", cursor);
    if (pages.length > 0) params.set("before", pages.slice(-MAX_PAGES_BACK).join("."));
    return `${url.pathname}${params.size > 0 ? `?${params}` : ""}`;
  };
  const previous = before.at(-1);
  return (
    <nav className="pager" aria-label="Pages">
      {current !== null && <a href={linkWith(null, [])}>First page</a>}
      {current !== null && previous !== undefined && (
        <a href={linkWith(previous === "-" ? null : previous, before.slice(0, -1))} rel="prev">
          Previous page
        </a>
      )}
      {nextCursor !== null && (
        <a href={linkWith(nextCursor, [...before, current ?? "-"])} rel="next">
          Next page
        </a>
      )}
    </nav>
  );
}
