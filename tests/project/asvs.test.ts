import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The levels of the requirements of OWASP ASVS 5.0.0: a word for each section of a chapter, a digit for each requirement. */
const CHAPTERS = [
  "22 1111122223 112222222223 222 123",
  "122 112 12223 23",
  "3 113 12223 11222233 11122333 3 22333",
  "12233 23333 22 1222",
  "2 112333 113 222",
  "122 111111112222 11223333 112233 22222333 2223 33 2222",
  "222 1111 22 11222 223 22",
  "1233 1123 133 23",
  "111 1222",
  "22 223 22223 1111122222233333 22222 22 222",
  "2233 22233 11233 1222 23 23 33",
  "12233 11 22223",
  "2333 222223 2233 1222233",
  "22 12223333 122",
  "12233 12233 1222222 3333",
  "2 22222 2222 222 2223",
  "23 22223333 22",
];

const LEVELS = new Map(
  CHAPTERS.flatMap((sections, chapter) =>
    sections.split(" ").map((levels, section): [string, string] => [`${chapter + 1}.${section + 1}`, levels]),
  ),
);

type Row = { items: string[]; levels: string; how: string; shown: string };

const rows: Row[] = readFileSync("docs/asvs.md", "utf8")
  .split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) => line.replace(/^\| | \|$/g, "").split(" | "))
  .map(([items = "", levels = "", , how = "", shown = ""]) => ({ items: items.split(", "), levels, how, shown }));

const levelOf = (item: string): string => {
  const [, section = "", number = ""] = /^(\d+\.\d+)\.(\d+)$/.exec(item) ?? [];
  return LEVELS.get(section)?.[Number(number) - 1] ?? "";
};

/** The tests that a row cites: `file`: "name", "name"; `file`: … */
function cited({ items, shown }: Row): { items: string[]; file: string; name: string }[] {
  return shown.split("; `").flatMap((part) => {
    const file = /^`?([^`]+)`: /.exec(part)?.[1] ?? "";
    return [...part.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({ items, file, name }));
  });
}

/**
 * What is wrong with a cited test, or block of tests: it is not there, or the comment above it does not name the items.
 * The test of the architecture holds that no test is skipped, unless a program is missing that CI has.
 */
function faultOf({ items, file, name }: ReturnType<typeof cited>[number]): string | null {
  if (!/^tests\/.+\.test\.ts$/.test(file) || !existsSync(file)) return `there is no ${file}`;
  const lines = readFileSync(file, "utf8").split("\n");
  const isCall = (line: string) => line.includes(`("${name}",`) || line.trim() === `"${name}",`;
  const places = lines.flatMap((line, i) => (isCall(line) ? [lines[i - 1] ?? ""] : []));
  if (places.length === 0) return `${file} has no test "${name}"`;
  const named = places.flatMap((line) => /^\s*\/\/ ASVS ([\d., ]+)$/.exec(line)?.[1]?.split(", ") ?? []);
  const unnamed = items.filter((item) => !named.includes(item));
  return unnamed.length > 0 ? `the comment above "${name}" in ${file} does not name ${unnamed}` : null;
}

test("every requirement of the standard is listed once, with its level", () => {
  const all = [...LEVELS].flatMap(([section, levels]) => [...levels].map((_, i) => `${section}.${i + 1}`));
  expect(all).toHaveLength(345);
  const listed = rows.flatMap(({ items }) => items);
  expect(listed.filter((item, i) => listed.indexOf(item) !== i)).toEqual([]);
  expect(all.filter((item) => !listed.includes(item))).toEqual([]);
  const levels = rows.map(({ items }) => [...new Set(items.map(levelOf))].sort().join(", "));
  expect(rows.map((row) => row.levels)).toEqual(levels);
});

test("every requirement of levels 1 and 2 is met: by tests, by documentation, or because it does not apply", () => {
  for (const row of rows) {
    const isMet =
      cited(row).length > 0 ||
      (row.shown === "documented" && /\]\([\w./#-]+\)/.test(row.how)) ||
      (row.shown === "not applicable" && row.how !== "");
    const isLevel3 = row.items.every((item) => levelOf(item) === "3");
    expect({ items: row.items, isMet: isMet || (isLevel3 && row.shown === "not met") }).toEqual({
      items: row.items,
      isMet: true,
    });
  }
});

test("every test that the page cites is there, and names the items that it shows", () => {
  const citations = rows.flatMap(cited);
  expect(citations.length).toBeGreaterThan(200);
  expect(citations.map(faultOf).filter((fault) => fault !== null)).toEqual([]);
});
