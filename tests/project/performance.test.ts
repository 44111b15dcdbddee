import { expect, test } from "vitest";
import { charts, DOCUMENTS, readPublished, withTables } from "@/bench/report/publish";
import { read } from "@/tests/support/sources";

test("the tables and charts of docs/performance.md and the README show the published figures", () => {
  const published = readPublished();
  for (const [file, svg] of Object.entries(charts(published))) expect(read(file), file).toBe(svg);
  expect(DOCUMENTS.length).toBeGreaterThan(1);
  for (const file of DOCUMENTS) expect(withTables(read(file), published), file).toBe(read(file));
});
