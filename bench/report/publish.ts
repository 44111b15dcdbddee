import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Figure, Row, Section } from "../lib/table";
import type { About } from "./about";
import { headlines } from "./headlines";
import { markdown } from "./markdown";

/** The figures in the docs, by workload; each with the run that it is from. */
export type Published = Record<string, Section & { about: About }>;

/** The workloads' names by group, in the order of the document. */
export type Groups = Record<string, readonly string[]>;

export const PUBLISHED_FILE = "bench/published.json";
export const DOCUMENTS = ["docs/performance.md", "README.md"];

export function readPublished(): Published {
  return existsSync(PUBLISHED_FILE) ? JSON.parse(readFileSync(PUBLISHED_FILE, "utf8")) : {};
}

/** Adds sections to the published figures, and writes the documents' tables. Returns the files that it wrote. */
export function publish(sections: Record<string, Section>, about: About, groups: Groups): string[] {
  const published = readPublished();
  for (const [name, { title, rows, notes }] of Object.entries(sections)) {
    published[name] = { title, rows: rows.map(rounded), notes, about };
  }
  writeFileSync(PUBLISHED_FILE, `${JSON.stringify(published, null, 1)}\n`);
  for (const file of DOCUMENTS) writeFileSync(file, withTables(readFileSync(file, "utf8"), published, groups));
  return [PUBLISHED_FILE, ...DOCUMENTS];
}

/** Replaces what is between `<!-- bench NAME -->` and `<!-- /bench -->` in a document. */
export function withTables(text: string, published: Published, groups: Groups): string {
  const render = (name: string): string => {
    if (name === "about") return describe(published, groups);
    if (name === "headlines") return headlines(published);
    const names = groups[name];
    if (!names) throw new Error(`Unknown table: ${name}`);
    return markdown(names.flatMap((workload) => published[workload] ?? []));
  };
  return text.replace(
    /(<!-- bench ([\w-]+) -->\n).*?(<!-- \/bench -->)/gs,
    (_, open: string, name: string, end: string) => `${open}\n${render(name)}\n\n${end}`,
  );
}

/** One line for each run that figures are from. */
function describe(published: Published, groups: Groups): string {
  const names = Object.values(groups).flat();
  const runs = new Map<string, { about: About; workloads: string[] }>();
  for (const name of names) {
    const about = published[name]?.about;
    if (!about) continue;
    const run = runs.get(about.at) ?? { about, workloads: [] };
    run.workloads.push(name);
    runs.set(about.at, run);
  }
  const lines = [...runs.values()].map(({ about, workloads }) => {
    const which = workloads.length === names.length ? "All workloads" : workloads.join(", ");
    return `- ${which}: ${about.at.slice(0, 10)}, commit ${about.commit}, ${about.machine}. ${about.versions}`;
  });
  return lines.join("\n");
}

/** The row with four significant digits. */
function rounded(row: Row): Row {
  const round = (figure: Figure): Figure => {
    if (typeof figure === "number") return Number(figure.toPrecision(4));
    const { median, min, max } = figure;
    return { median: Number(median.toPrecision(4)), min: Number(min.toPrecision(4)), max: Number(max.toPrecision(4)) };
  };
  return JSON.parse(JSON.stringify(row), (_, value) => (typeof value === "number" ? round(value) : value)) as Row;
}
