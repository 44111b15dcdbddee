const GAP = 2;

/**
 * Renders rows in aligned columns. A line longer than the terminal is cut: its last column is the one that may be long.
 */
function renderTable(rows: readonly (readonly string[])[], terminalWidth = Number.POSITIVE_INFINITY): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => {
    const line = row.map((cell, column) => cell.padEnd((widths[column] ?? 0) + GAP)).join("");
    const text = line.trimEnd();
    return text.length > terminalWidth ? `${text.slice(0, terminalWidth - 1)}…` : text;
  });
}

/** A cell of a table. null and undefined are printed as "-". */
type Cell = string | number | boolean | null | undefined;

/** The columns of a table: each a field of the entries, or made of them. */
type Columns<Entry> = Readonly<Record<string, FieldOf<Entry> | ((entry: Entry) => Cell)>>;
type FieldOf<Entry> = { [name in keyof Entry]-?: Entry[name] extends Cell ? name : never }[keyof Entry];

/** Writes what a command finds or does: to the standard output as text, or with --json as one JSON document. */
export type Output = {
  isJson: boolean;
  /** The result of a command, for JSON and as lines of text. */
  result: (document: unknown, lines: readonly string[]) => void;
  /**
   * A list, as JSON: the entries; at a terminal: a table with a heading; into a pipe or a file: a line for each entry, its
   * cells separated by tabs. `none` is a note about an empty one.
   */
  table: <Entry>(entries: readonly Entry[], none: string | null, columns: Columns<Entry>) => void;
  /** What is not part of the result, on standard error. */
  note: (text: string) => void;
};

export function createOutput(isJson: boolean): Output {
  const result: Output["result"] = (document, lines) => {
    if (isJson) console.log(JSON.stringify(document, null, 2));
    else for (const line of lines) console.log(line);
  };
  const note = (text: string) => console.error(text);
  return {
    isJson,
    result,
    note,
    table: (entries, none, columns) => {
      if (none !== null && entries.length === 0) note(none);
      const cells = Object.values(columns);
      const rows = entries.map((entry) =>
        cells.map((cell) => textOf(typeof cell === "function" ? cell(entry) : (entry[cell] as Cell))),
      );
      const isTerminal = process.stdout.isTTY;
      const heading = isTerminal && rows.length > 0 ? [Object.keys(columns).map((name) => name.toUpperCase())] : [];
      const all = [...heading, ...rows];
      result(entries, isTerminal ? renderTable(all, process.stdout.columns) : all.map((row) => row.join("\t")));
    },
  };
}

const textOf = (cell: Cell) => (cell === null || cell === undefined ? "-" : printable(String(cell)));

/** A text without characters that would control a terminal or break the line. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, " ");
}

/** Formats a size: 12.3 MB. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const exponent = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${Number((bytes / 1000 ** exponent).toFixed(1))} ${units[exponent]}`;
}
