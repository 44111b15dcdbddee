import type { Amount, Figure, Goal, Row, Section } from "../lib/table";

type Column = { head: string; align: string; cell: (row: Row) => string };

const COLUMNS: Column[] = [
  { head: "throughput", align: "---:", cell: ({ throughput }) => amount(throughput) },
  { head: "p50 ms", align: "---:", cell: ({ p50Ms }) => figure(p50Ms) },
  { head: "p95 ms", align: "---:", cell: ({ p95Ms }) => figure(p95Ms) },
  { head: "p99 ms", align: "---:", cell: ({ p99Ms }) => figure(p99Ms) },
  { head: "CPU ms per request", align: "---:", cell: ({ cpuMsPerRequest: cpu }) => figure(cpu) },
  { head: "PostgreSQL CPU ms", align: "---:", cell: ({ databaseCpuMsPerRequest: cpu }) => figure(cpu) },
  { head: "WAL bytes", align: "---:", cell: ({ walBytesPerRequest }) => figure(walBytesPerRequest) },
  { head: "bytes", align: "---:", cell: ({ bytes }) => figure(bytes) },
  { head: "RSS MiB", align: "---:", cell: ({ memoryMiB }) => figure(memoryMiB) },
  { head: "ratio", align: "---:", cell: ({ ratio }) => figure(ratio) },
  { head: "target", align: "---", cell: ({ goal }) => goal?.target ?? "" },
  { head: "met", align: "---", cell: ({ goal }) => (goal ? met(goal) : "") },
];

/** Renders sections as one Markdown table without empty columns, followed by their notes. */
export function markdown(sections: Section[]): string {
  const rows = sections.flatMap((section) => section.rows);
  const columns = COLUMNS.filter(({ cell }) => rows.some((row) => cell(row) !== ""));
  const head = [
    ["workload", "server", ...columns.map(({ head }) => head)],
    ["---", "---", ...columns.map(({ align }) => align)],
  ];
  const body = sections.flatMap((section) =>
    section.rows.map((row, i) => [
      i === 0 ? section.title : "",
      row.candidate,
      ...columns.map(({ cell }) => cell(row)),
    ]),
  );
  const table = rows.length > 0 ? [...head, ...body].map((line) => `| ${line.join(" | ")} |`) : [];
  const notes = sections.flatMap(({ title, notes = [] }) => notes.map((note) => `- ${title}: ${note}`));
  return [...table, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
}

/** Three significant digits without an exponent, with thousands separated. */
export function digits(figure: number): string {
  const rounded = figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
  return rounded.toLocaleString("en-US", { maximumSignificantDigits: 15 });
}

function amount(throughput: Amount | string | null | undefined): string {
  if (!throughput || typeof throughput === "string") return throughput ?? "";
  return figure(throughput.figure, throughput.unit.startsWith("/") ? throughput.unit : ` ${throughput.unit}`);
}

/** The median, with the minimum and the maximum in parentheses if they differ from it. */
function figure(value: Figure | null | undefined, unit = ""): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return digits(value) + unit;
  if (!Number.isFinite(value.median)) return "";
  const [median, min, max] = [value.median, value.min, value.max].map(digits);
  return min === max ? `${median}${unit}` : `${median}${unit} (${min}–${max})`;
}

function met({ isMet, isMetAlways }: Goal): string {
  if (isMetAlways === undefined || isMet === isMetAlways) return isMet ? "yes" : "**no**";
  return "yes, not in every round";
}
