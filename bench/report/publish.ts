import { readFileSync, writeFileSync } from "node:fs";
import { capacityTable } from "../capacity/table";
import type { Curve, Section } from "../lib/table";
import type { About } from "./about";
import { chart } from "./chart";
import { GROUPS, WORKLOAD_NAMES } from "./groups";
import { headlines } from "./headlines";
import { markdown } from "./markdown";
import { PUBLISHED_FILE, type Published, readPublished } from "./published";

export const DOCUMENTS = ["docs/performance.md", "README.md"];

/** Adds sections to the published figures, and writes the documents' tables. Returns the files that it wrote. */
export function publish(sections: Record<string, Section>, about: About): string[] {
  const published = readPublished();
  for (const [name, { title, rows, notes, curves }] of Object.entries(sections)) {
    published[name] = { title, rows: mediansOf(rows), notes, curves: mediansOf(curves), about };
  }
  writeFileSync(PUBLISHED_FILE, toText(published));
  for (const file of DOCUMENTS) writeFileSync(file, withTables(readFileSync(file, "utf8"), published));
  const images = charts(published);
  for (const [file, svg] of Object.entries(images)) writeFileSync(file, svg);
  return [PUBLISHED_FILE, ...DOCUMENTS, ...Object.keys(images)];
}

/**
 * Replaces what is between `<!-- bench NAME -->` and `<!-- /bench -->` in a document. A table without published figures
 * stays as it is.
 */
export function withTables(text: string, published: Published): string {
  const render = (name: string): string => {
    if (name === "about") return describe(published);
    if (name === "headlines") return headlines(published);
    if (name === "capacity") return capacityTable(published);
    if (!isGroup(name)) throw new Error(`Unknown table: ${name}`);
    const sections = GROUPS[name].flatMap((workload) => published[workload] ?? []);
    return [...sections.flatMap(({ curves = [] }) => images(curves)), markdown(sections)].join("\n");
  };
  return text.replace(
    /(<!-- bench ([\w-]+) -->\n).*?(<!-- \/bench -->)/gs,
    (whole, open: string, name: string, end) => {
      const table = render(name);
      return table ? `${open}\n${table}\n\n${end}` : whole;
    },
  );
}

/** The published curves as SVG, by file. */
export function charts(published: Published): Record<string, string> {
  const drawn = Object.values(published).flatMap(({ curves = [] }) => curves.filter(isDrawn));
  return Object.fromEntries(drawn.map((curve) => [`docs/${imageOf(curve)}`, chart(curve)]));
}

/** Whether a curve has a line: a measurement may have failed. */
const isDrawn = ({ points }: Curve) => points.length > 1;

const imageOf = ({ name }: Curve) => `images/growth-${name}.svg`;

function images(curves: Curve[]): string[] {
  const all = curves
    .filter(isDrawn)
    .map((curve) => `  <img src="${imageOf(curve)}" width="49%" alt="${curve.title}: see the table">`);
  return all.length > 0 ? ["<p>", ...all, "</p>", ""] : [];
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

/** The same with the median of each spread, to four significant digits, and without the figures that do not apply. */
function mediansOf<T>(value: T): T {
  if (value === undefined) return value;
  const text = JSON.stringify(value, (_, part) => {
    const figure = part?.median ?? part;
    return typeof figure === "number" ? Number(figure.toPrecision(4)) : (figure ?? undefined);
  });
  return JSON.parse(text) as T;
}

/** JSON with a line for each row of a table. */
function toText(published: Published): string {
  const sections = Object.entries(published).map(([name, { rows, ...section }]) => {
    const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
    return ` ${JSON.stringify(name)}: ${JSON.stringify(section).slice(0, -1)},"rows":[\n${lines}\n ]}`;
  });
  return `{\n${sections.join(",\n")}\n}\n`;
}
