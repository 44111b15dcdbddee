import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Row, Section } from "../lib/table";
import type { About } from "./about";
import { GROUPS, WORKLOAD_NAMES } from "./groups";
import { headlines } from "./headlines";
import { markdown } from "./markdown";

/** The figures in the docs, by workload; each with the run that it is from. */
export type Published = Record<string, Section & { about: About }>;

export const PUBLISHED_FILE = "bench/published.json";
export const DOCUMENTS = ["docs/performance.md", "README.md"];

export function readPublished(): Published {
  return existsSync(PUBLISHED_FILE) ? JSON.parse(readFileSync(PUBLISHED_FILE, "utf8")) : {};
}

/** Adds sections to the published figures, and writes the documents' tables. Returns the files that it wrote. */
export function publish(sections: Record<string, Section>, about: About): string[] {
  const published = readPublished();
  for (const [name, { title, rows, notes }] of Object.entries(sections)) {
    published[name] = { title, rows: rows.map(rounded), notes, about };
  }
  writeFileSync(PUBLISHED_FILE, `${JSON.stringify(published, null, 1)}\n`);
  for (const file of DOCUMENTS) writeFileSync(file, withTables(readFileSync(file, "utf8"), published));
  return [PUBLISHED_FILE, ...DOCUMENTS];
}

/**
 * Replaces what is between `<!-- bench NAME -->` and `<!-- /bench -->` in a document. A table without published figures
 * stays as it is.
 */
export function withTables(text: string, published: Published): string {
  const render = (name: string): string => {
    if (name === "about") return describe(published);
    if (name === "headlines") return headlines(published);
    if (!isGroup(name)) throw new Error(`Unknown table: ${name}`);
    return markdown(GROUPS[name].flatMap((workload) => published[workload] ?? []));
  };
  return text.replace(
    /(<!-- bench ([\w-]+) -->\n).*?(<!-- \/bench -->)/gs,
    (whole, open: string, name: string, end) => {
      const table = render(name);
      return table ? `${open}\n${table}\n\n${end}` : whole;
    },
  );
}

const isGroup = (name: string): name is keyof typeof GROUPS => Object.hasOwn(GROUPS, name);

/** One line for each run that figures are from. */
function describe(published: Published): string {
  const runs = new Map<string, { about: About; workloads: string[] }>();
  for (const name of WORKLOAD_NAMES) {
    const about = published[name]?.about;
    if (!about) continue;
    const run = runs.get(about.at) ?? { about, workloads: [] };
    run.workloads.push(name);
    runs.set(about.at, run);
  }
  const lines = [...runs.values()].map(({ about, workloads }) => {
    const which = workloads.length === WORKLOAD_NAMES.length ? "All workloads" : workloads.join(", ");
    return `- ${which}: ${about.at.slice(0, 10)}, commit ${about.commit}, ${about.machine}. ${about.versions}`;
  });
  return lines.join("\n");
}

/** The row with four significant digits, and without the figures that do not apply. */
function rounded(row: Row): Row {
  const text = JSON.stringify(row, (_, value) => {
    if (typeof value === "number") return Number(value.toPrecision(4));
    return value ?? undefined;
  });
  return JSON.parse(text) as Row;
}
