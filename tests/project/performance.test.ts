import { expect, test } from "vitest";
import { ASSUMPTIONS } from "@/bench/capacity/assumptions";
import { readCosts } from "@/bench/capacity/costs";
import { hitRate } from "@/bench/capacity/edge-cache";
import { needsOf } from "@/bench/capacity/model";
import { charts, DOCUMENTS, withTables } from "@/bench/report/publish";
import { readPublished } from "@/bench/report/published";
import { createRandom } from "@/dev/seed/random";
import { read } from "@/tests/support/sources";

test("the tables and charts of docs/performance.md and the README show the published figures", () => {
  const published = readPublished();
  for (const [file, svg] of Object.entries(charts(published))) expect(read(file), file).toBe(svg);
  expect(DOCUMENTS.length).toBeGreaterThan(1);
  for (const file of DOCUMENTS) expect(withTables(read(file), published), file).toBe(read(file));
});

test("the simulated CDN serves the share of requests that renewal theory predicts", () => {
  for (const perSecond of [1, 20, 1_000, 100_000]) {
    const perCopy = (perSecond / 1_200) * 60; // requests within a response's max-age
    const rate = hitRate({ perSecond, locations: 100, feeds: 12, maxAgeSeconds: 60 }, createRandom(1).next);
    expect(rate).toBeCloseTo(perCopy / (perCopy + 1), 2);
  }
});

test("ten times as many clients need ten times as much, and never fewer than two instances", () => {
  const costs = readCosts(readPublished()) ?? expect.fail("no costs are published");
  const [few, many] = [needsOf(1_000_000, costs, ASSUMPTIONS), needsOf(10_000_000, costs, ASSUMPTIONS)];
  expect(many.serverCores / few.serverCores).toBeCloseTo(10);
  expect(many.databaseGb / few.databaseGb).toBeCloseTo(10);
  expect(needsOf(1, costs, ASSUMPTIONS)).toMatchObject({ instances: 2, databases: 1 });
});
