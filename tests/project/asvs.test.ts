import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The levels of the requirements of each section of OWASP ASVS 5.0.0, in their order. */
const LEVELS: Record<string, string> = {
  "1.1": "22",
  "1.2": "1111122223",
  "1.3": "112222222223",
  "1.4": "222",
  "1.5": "123",
  "2.1": "122",
  "2.2": "112",
  "2.3": "12223",
  "2.4": "23",
  "3.1": "3",
  "3.2": "113",
  "3.3": "12223",
  "3.4": "11222233",
  "3.5": "11122333",
  "3.6": "3",
  "3.7": "22333",
  "4.1": "12233",
  "4.2": "23333",
  "4.3": "22",
  "4.4": "1222",
  "5.1": "2",
  "5.2": "112333",
  "5.3": "113",
  "5.4": "222",
  "6.1": "122",
  "6.2": "111111112222",
  "6.3": "11223333",
  "6.4": "112233",
  "6.5": "22222333",
  "6.6": "2223",
  "6.7": "33",
  "6.8": "2222",
  "7.1": "222",
  "7.2": "1111",
  "7.3": "22",
  "7.4": "11222",
  "7.5": "223",
  "7.6": "22",
  "8.1": "1233",
  "8.2": "1123",
  "8.3": "133",
  "8.4": "23",
  "9.1": "111",
  "9.2": "1222",
  "10.1": "22",
  "10.2": "223",
  "10.3": "22223",
  "10.4": "1111122222233333",
  "10.5": "22222",
  "10.6": "22",
  "10.7": "222",
  "11.1": "2233",
  "11.2": "22233",
  "11.3": "11233",
  "11.4": "1222",
  "11.5": "23",
  "11.6": "23",
  "11.7": "33",
  "12.1": "12233",
  "12.2": "11",
  "12.3": "22223",
  "13.1": "2333",
  "13.2": "222223",
  "13.3": "2233",
  "13.4": "1222233",
  "14.1": "22",
  "14.2": "12223333",
  "14.3": "122",
  "15.1": "12233",
  "15.2": "12233",
  "15.3": "1222222",
  "15.4": "3333",
  "16.1": "2",
  "16.2": "22222",
  "16.3": "2222",
  "16.4": "222",
  "16.5": "2223",
  "17.1": "23",
  "17.2": "22223333",
  "17.3": "22",
};

type Row = { items: string[]; levels: string; how: string; shown: string };

const rows: Row[] = readFileSync("docs/asvs.md", "utf8")
  .split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) => line.replace(/^\| | \|$/g, "").split(" | "))
  .map(([items = "", levels = "", , how = "", shown = ""]) => ({ items: items.split(", "), levels, how, shown }));

const levelOf = (item: string): string => {
  const [, section = "", number = ""] = /^(\d+\.\d+)\.(\d+)$/.exec(item) ?? [];
  return LEVELS[section]?.[Number(number) - 1] ?? "";
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
  const all = Object.entries(LEVELS).flatMap(([section, levels]) => [...levels].map((_, i) => `${section}.${i + 1}`));
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
