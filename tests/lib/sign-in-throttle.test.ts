import { expect, test } from "vitest";
import { waitMs } from "@/lib/auth/limits/sign-in-throttle";

test("the first nine failures cost no wait, the tenth a minute, each further one twice the last, up to an hour", () => {
  const minutes = Array.from({ length: 20 }, (_, i) => waitMs(i + 1) / 60_000);
  expect(minutes).toEqual([...Array(9).fill(0), 1, 2, 4, 8, 16, 32, ...Array(5).fill(60)]);
  expect(waitMs(1_000_000)).toBe(60 * 60_000);
});
