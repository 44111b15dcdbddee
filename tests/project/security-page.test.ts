import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/security.md", "utf8");
const rows = page
  .slice(page.indexOf("## Item by item"))
  .split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")));

/** The tests that a row cites: `file`: "name", "name"; `file`: … */
function cited(cell: string): { file: string; name: string }[] {
  return cell.split("; `").flatMap((part) => {
    const file = /^`?([^`]+)`: /.exec(part)?.[1] ?? "";
    return [...part.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({ file, name }));
  });
}

/** Whether a file has a test, or a block of tests, of that name, as it is written there. */
function has({ file, name }: { file: string; name: string }): boolean {
  if (!existsSync(file)) return false;
  return readFileSync(file, "utf8")
    .replaceAll(/\(\s+"/g, '("')
    .includes(`("${name}",`);
}

test("every item of the security page cites a test, and every test that it cites is there", () => {
  expect(rows.length).toBeGreaterThan(40);
  const citations = rows.map(([item = "", , , shown = ""]) => ({ item, tests: cited(shown) }));
  expect(citations.filter(({ tests }) => tests.length === 0)).toEqual([]);
  expect(citations.flatMap(({ tests }) => tests).filter((citation) => !has(citation))).toEqual([]);
});
