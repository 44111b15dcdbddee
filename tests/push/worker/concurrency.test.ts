import { expect, test } from "vitest";
import { createConcurrency } from "@/lib/push/worker/sender";

const WINDOW_MS = 10_000;

function concurrency(max = 1_000) {
  let elapsedMs = 0;
  const { limit, recordLatency } = createConcurrency(max, () => elapsedMs);
  return {
    limitAfter: (...latencies: number[]) => {
      for (const ms of latencies) recordLatency(ms);
      return limit();
    },
    advance: (ms: number) => {
      elapsedMs += ms;
    },
  };
}

test("a distant APNs receives more requests at the same time, so that 5,000 a second fit", () => {
  const { limitAfter } = concurrency();
  expect(limitAfter()).toBe(100);
  expect(limitAfter(1, 2)).toBe(100);
  const distant = concurrency();
  const limit = distant.limitAfter(60, 61, 75);
  expect(limit / 0.06).toBeGreaterThanOrEqual(5_000);
  expect(limit).toBe(600);
  expect(concurrency().limitAfter(2_000)).toBe(1_000);
});

test("latency that grows because this process is busy does not raise the limit", () => {
  const { limitAfter, advance } = concurrency();
  expect(limitAfter(5, 200, 400, 800)).toBe(100);
  advance(WINDOW_MS + 1);
  expect(limitAfter(800)).toBe(100);
});

test("a route that became longer raises the limit", () => {
  const { limitAfter, advance } = concurrency();
  limitAfter(5);
  for (let i = 0; i < 2; i++) {
    advance(WINDOW_MS + 1);
    limitAfter(60);
  }
  expect(limitAfter(60)).toBe(600);
});

test("a lower maximum holds", () => {
  expect(concurrency(5).limitAfter(60)).toBe(5);
});
