import { expect, test } from "vitest";
import { removeOldCounts } from "@/lib/releases/adoption/stored-counts";
import { ctx } from "@/tests/support/context";

test("counts of checks and reports are removed after 400 days", async () => {
  const { db } = ctx();
  const product = "retention";
  const target = { product, platform: "windows", architecture: "x64", version: "1.0.0" };
  for (const day of [new Date("1990-01-01"), new Date("1991-02-10")]) {
    await db.adoptionCount.create({ data: { ...target, day, channel: "stable", checks: 1 } });
    await db.updateReportCount.create({ data: { ...target, day, outcome: "installed", from: "", code: "" } });
  }
  const now = () => new Date("1991-02-11T12:00:00Z");
  expect(await removeOldCounts({ db, now })).toBeGreaterThanOrEqual(2);
  const kept = [{ day: new Date("1991-02-10") }];
  expect(await db.adoptionCount.findMany({ where: { product }, select: { day: true } })).toEqual(kept);
  expect(await db.updateReportCount.findMany({ where: { product }, select: { day: true } })).toEqual(kept);
});
