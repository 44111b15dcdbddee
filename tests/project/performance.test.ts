import { expect, test } from "vitest";
import { DOCUMENTS, readPublished, withTables } from "@/bench/report/publish";
import { read } from "@/tests/support/sources";

test("the tables of docs/performance.md and the README show the published figures", () => {
  const published = readPublished();
  expect(DOCUMENTS.length).toBeGreaterThan(1);
  for (const file of DOCUMENTS) expect(withTables(read(file), published), file).toBe(read(file));
});
