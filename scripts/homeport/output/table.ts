const GAP = 2;

/**
 * Renders rows in aligned columns. A line longer than the terminal is cut: its last column is the one that may be long.
 */
export function renderTable(rows: readonly (readonly string[])[], terminalWidth = Number.POSITIVE_INFINITY): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => {
    const line = row.map((cell, column) => cell.padEnd((widths[column] ?? 0) + GAP)).join("");
    const text = line.trimEnd();
    return text.length > terminalWidth ? `${text.slice(0, terminalWidth - 1)}…` : text;
  });
}
