import { expect, test } from "vitest";
import { Prisma } from "@/lib/platform/db/generated/client";
import { backoffSeconds, createConsumer, isLeaseExpired, leaseExpired } from "@/lib/platform/db/queue";
import { ctx } from "@/tests/support/context";

const MINUTE_MS = 60_000;

test("each failure has its delay, later ones the last delay, and jitter subtracts up to half", () => {
  const delays = [10, 60];
  expect([1, 2, 3, 9].map((failures) => backoffSeconds(delays, failures))).toEqual([10, 60, 60, 60]);
  expect([0, 0.5, 1].map((random) => backoffSeconds(delays, 1, random))).toEqual([5, 7.5, 10]);
});

test.each([
  [-1, true],
  [0, false],
  [10 * MINUTE_MS, false],
  [10 * MINUTE_MS + 1, true],
])("a lease that ends in %d ms is expired: %s, in the database as in the process", async (ms, isExpired) => {
  const now = new Date("2026-11-20T10:00:00Z");
  const leaseUntil = new Date(now.getTime() + ms);
  expect(isLeaseExpired(leaseUntil, now)).toBe(isExpired);
  const condition = leaseExpired(Prisma.sql`${leaseUntil}::timestamptz`, Prisma.sql`${now}::timestamptz`);
  expect(await ctx().db.$queryRaw`SELECT ${condition} AS "isExpired"`).toEqual([{ isExpired }]);
});

/** A consumer of a queue with so many rows that end when they are released. */
function consumerOf(rows: number, concurrency: number) {
  const releases: (() => void)[] = [];
  const errors: unknown[] = [];
  const consumer = createConsumer({
    concurrency,
    processNext: async () => {
      if (rows === 0) return false;
      rows -= 1;
      await new Promise<void>((resolve) => releases.push(resolve));
      return true;
    },
    onError: (error) => errors.push(error),
  });
  return { ...consumer, releases, errors, left: () => rows };
}

test("a consumer processes as many rows at the same time as allowed", async () => {
  const { wake, close, releases, left } = consumerOf(5, 2);
  for (let i = 0; i < 4; i++) wake();
  await expect.poll(() => releases.length).toBe(2);
  for (let released = 0; released < 5; released++) {
    await expect.poll(() => releases.length).toBeGreaterThan(released);
    releases[released]?.();
  }
  await close();
  expect(left()).toBe(0);
});

test("a consumer that is closed finishes its row and leaves the rest in the queue", async () => {
  const { wake, close, releases, left } = consumerOf(3, 1);
  wake();
  await expect.poll(() => releases.length).toBe(1);
  const closing = close();
  releases[0]?.();
  await closing;
  wake();
  expect({ left: left(), started: releases.length }).toEqual({ left: 2, started: 1 });
});

test("a consumer continues at the next wake after an error", async () => {
  const errors: unknown[] = [];
  let failures = 1;
  const { wake, close } = createConsumer({
    concurrency: 1,
    processNext: async () => {
      failures -= 1;
      if (failures === 0) throw new Error("unreachable");
      return false;
    },
    onError: (error) => errors.push(error),
  });
  wake();
  await expect.poll(() => errors.length).toBe(1);
  wake();
  await close();
  expect(failures).toBe(-1);
});
