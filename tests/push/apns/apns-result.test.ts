import { describe, expect, test } from "vitest";
import { classifyApnsResult, nextAttempt } from "@/lib/push/worker/deliver";
import { createCircuitBreaker } from "@/lib/push/worker/pause-state";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const NETWORK = [5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];
const now = new Date("2026-11-20T10:00:00Z");
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000);

test.each([
  [200, null, { action: "sent" }],
  [410, "Unregistered", { action: "fail", device: "unregistered" }],
  [410, "ExpiredToken", { action: "fail", device: "unregistered" }],
  [400, "BadDeviceToken", { action: "fail", device: "rejected" }],
  [400, "DeviceTokenNotForTopic", { action: "fail", device: "rejected" }],
  [400, "BadTopic", { action: "fail", device: "unaffected" }],
  [403, "ExpiredProviderToken", { action: "pause", seconds: 5 * MINUTE }],
  [403, "InvalidProviderToken", { action: "pause", seconds: 5 * MINUTE }],
  [404, "BadPath", { action: "fail", device: "unaffected" }],
  [405, "MethodNotAllowed", { action: "fail", device: "unaffected" }],
  [413, "PayloadTooLarge", { action: "fail", device: "unaffected" }],
  [429, "TooManyRequests", { action: "retry", delaysSeconds: [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR] }],
  [429, "TooManyProviderTokenUpdates", { action: "pause", seconds: 20 * MINUTE }],
  [500, "InternalServerError", { action: "retry", delaysSeconds: [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR] }],
  [503, "ServiceUnavailable", { action: "retry", delaysSeconds: [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR] }],
  [302, null, { action: "retry", delaysSeconds: [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR] }],
])("%d %s means %o", (status, reason, action) => {
  expect(classifyApnsResult({ status, reason })).toEqual(action);
});

test.each(["timeout", "unreachable"] as const)("a missing response (%s) is retried soon", (reason) => {
  expect(classifyApnsResult({ status: null, reason })).toEqual({ action: "retry", delaysSeconds: NETWORK });
});

describe("the next attempt", () => {
  const row = (attempts: number, livesSeconds = 24 * HOUR) => ({ attempts, expiresAt: later(livesSeconds) });

  test("comes after half to all of the delay; the last delay applies to all that follow", () => {
    for (const [attempts, delay] of [5, 15, 60, 300, 900, 3600, 3600].entries()) {
      expect(nextAttempt({ delaysSeconds: NETWORK }, row(attempts), now, 0)).toEqual(later(delay / 2));
      expect(nextAttempt({ delaysSeconds: NETWORK }, row(attempts), now, 0.5)).toEqual(later(delay * 0.75));
      expect(nextAttempt({ delaysSeconds: NETWORK }, row(attempts), now, 1)).toEqual(later(delay));
    }
  });

  test.each([30, 5])("follows a Retry-After of %d s by up to half of it, the first three times", (seconds) => {
    const delays = { delaysSeconds: [900, 1800, 3600], retryAfterSeconds: seconds };
    for (const attempts of [0, 1, 2]) {
      expect(nextAttempt(delays, row(attempts), now, 0)).toEqual(later(seconds));
      expect(nextAttempt(delays, row(attempts), now, 1)).toEqual(later(seconds * 1.5));
    }
    expect(nextAttempt(delays, row(3), now, 0)).toEqual(later(1800));
  });

  test("never comes before a Retry-After of up to two hours", () => {
    const delays = { delaysSeconds: [5], retryAfterSeconds: HOUR };
    for (const attempts of [0, 6]) expect(nextAttempt(delays, row(attempts), now, 0)).toEqual(later(HOUR));
    const absurd = { delaysSeconds: [5], retryAfterSeconds: 1_000_000_000 };
    expect(nextAttempt(absurd, row(0), now, 0)).toEqual(later(2 * HOUR));
  });

  test("comes after five seconds at least, even with a Retry-After of 0", () => {
    for (const retryAfterSeconds of [0, 1]) {
      expect(nextAttempt({ delaysSeconds: [900], retryAfterSeconds }, row(0), now, 0)).toEqual(later(5));
    }
  });

  test("is null after eight attempts", () => {
    expect(nextAttempt({ delaysSeconds: NETWORK }, row(6), now, 0)).not.toBeNull();
    expect(nextAttempt({ delaysSeconds: NETWORK }, row(7), now, 0)).toBeNull();
  });

  test("is null if it would come after the expiry", () => {
    expect(nextAttempt({ delaysSeconds: NETWORK }, row(3, 225), now, 0.5)).toBeNull();
    expect(nextAttempt({ delaysSeconds: NETWORK }, row(3, 226), now, 0.5)).toEqual(later(225));
  });

  test("is still to come after an hour without APNs, even with the shortest delays", () => {
    let at = now;
    for (let attempts = 0; attempts < 7; attempts++)
      at = nextAttempt({ delaysSeconds: NETWORK }, row(attempts), at, 0) ?? now;
    expect(at.getTime()).toBeGreaterThan(later(HOUR).getTime());
  });
});

describe("the circuit breaker", () => {
  const feed = (sends: boolean[]) => {
    const breaker = createCircuitBreaker();
    return sends.map(breaker.record).indexOf(true);
  };
  const good = (count: number): boolean[] => Array(count).fill(false);
  const bad = (count: number): boolean[] => Array(count).fill(true);

  test("allows ten rejected tokens among fifty, and opens at the eleventh", () => {
    expect(feed([...good(30), ...bad(10), ...good(10)])).toBe(-1);
    expect(feed([...good(20), ...bad(11)])).toBe(30);
  });

  test("counts only actual sends: the first ten may all be rejected", () => {
    expect(feed(bad(10))).toBe(-1);
    expect(feed(bad(11))).toBe(10);
  });

  test("ignores results that are more than fifty sends old", () => {
    expect(feed([...bad(10), ...good(40), ...bad(10)])).toBe(-1);
    expect(feed([...bad(10), ...good(39), ...bad(1)])).toBe(49);
  });

  test("starts again from zero after it opened", () => {
    const breaker = createCircuitBreaker();
    expect(bad(22).filter(breaker.record)).toHaveLength(2);
  });
});
