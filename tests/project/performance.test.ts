import { expect, test } from "vitest";
import { ASSUMPTIONS } from "@/bench/capacity/assumptions";
import { readCosts } from "@/bench/capacity/costs";
import { needsOf } from "@/bench/capacity/model";
import { charts, DOCUMENTS, withTables } from "@/bench/report/publish";
import { readPublished } from "@/bench/report/published";
import { read } from "@/tests/support/sources";

test("the tables and charts of docs/performance.md and the README show the published figures", () => {
  const published = readPublished();
  for (const [file, svg] of Object.entries(charts(published))) expect(read(file), file).toBe(svg);
  expect(DOCUMENTS.length).toBeGreaterThan(1);
  for (const file of DOCUMENTS) expect(withTables(read(file), published), file).toBe(read(file));
});

test("ten times as many clients need ten times as much, and never fewer than two instances", () => {
  const costs = readCosts(readPublished()) ?? expect.fail("no costs are published");
  const [few, many] = [needsOf(1_000_000, costs, ASSUMPTIONS), needsOf(10_000_000, costs, ASSUMPTIONS)];
  expect(many.serverCores / few.serverCores).toBeCloseTo(10);
  expect(many.databaseGb / few.databaseGb).toBeCloseTo(10);
  expect(needsOf(1, costs, ASSUMPTIONS)).toMatchObject({ instances: 2, databases: 1 });
});
