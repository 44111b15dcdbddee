import { expect, test } from "vitest";
import { seedDatabase } from "@/dev/seed/seed";
import { readOverviewDays } from "@/lib/overview/read-overview-days";
import { Prisma } from "@/lib/platform/db/generated/client";
import { updateStatistics } from "@/lib/platform/statistics";
import { readStatistics } from "@/lib/push/admin/statistics";
import { ctx } from "@/tests/support/context";
import { replay } from "@/tests/support/subscriptions/operator-actions";

const NOW = new Date("2026-06-15T12:00:00Z");
const MONTH_BEFORE = new Date("2026-05-16T12:00:00Z");
const ACCOUNTS = 20;

const seed = () => {
  const { db } = ctx();
  return seedDatabase({ db, now: NOW }, { accounts: ACCOUNTS, seed: 1, onProgress: () => {} });
};
const purchases = () => ctx().db.purchase.findMany({ omit: { updatedAt: true }, orderBy: { id: "asc" } });

test("a seeded database holds what the service itself makes of its events, and is seeded once", async () => {
  const { db } = ctx();
  // They outlive the accounts of other tests.
  await db.pushReceipt.deleteMany();
  await db.pushOutcomeCount.deleteMany();
  await seed();
  expect(await db.account.count()).toBe(ACCOUNTS);
  expect(await db.pushReceipt.count()).toBe(3 * ACCOUNTS);
  const { outcomes } = await readStatistics({ db, dbNow: () => Prisma.sql`${NOW}::timestamptz` }, { period: "month" });
  const inMonth = await db.pushReceipt.count({ where: { endedAt: { gte: MONTH_BEFORE } } });
  expect(outcomes.reduce((sum, { count }) => sum + count, 0)).toBe(inMonth);
  expect(inMonth).toBe(2 * ACCOUNTS);
  expect(await db.billingEvent.count()).toBeGreaterThan(3 * ACCOUNTS);
  await updateStatistics({ db, now: () => NOW });
  const { metrics } = await readOverviewDays({ db, now: () => NOW }, 14);
  for (const { weekAgo } of Object.values(metrics)) expect(weekAgo).toEqual(expect.any(Number));
  expect(metrics.active_subscriptions.weekAgo).toBeGreaterThan(ACCOUNTS / 4);
  const stored = await purchases();
  expect(stored.length).toBeGreaterThan(ACCOUNTS / 2);

  expect(await replay("all")).toMatchObject({ processed: expect.any(Number) });
  expect(await purchases()).toEqual(stored);

  await expect(seed()).rejects.toThrow("The database has accounts");
  expect(await db.account.count()).toBe(ACCOUNTS);
});
