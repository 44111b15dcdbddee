import { expect, test } from "vitest";
import { waitMs } from "@/lib/auth/sign-in-throttle";

const rule = { freeFailures: 10, maxWaitMinutes: 60 };

test("the first nine failures cause no wait, the tenth one minute, and each further one twice the last, up to an hour", () => {
  const minutes = Array.from({ length: 20 }, (_, i) => waitMs(i + 1, rule) / 60_000);
  expect(minutes).toEqual([...Array(9).fill(0), 1, 2, 4, 8, 16, 32, ...Array(5).fill(60)]);
  expect(waitMs(1_000_000, rule)).toBe(60 * 60_000);
});
