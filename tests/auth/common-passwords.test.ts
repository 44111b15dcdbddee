import { dictionary } from "@zxcvbn-ts/language-common";
import { expect, test } from "vitest";
import { isCommonPassword } from "@/lib/auth/passwords/policy";

// ASVS 6.2.4
test("the 3,000 most common passwords of at least 8 characters are recognized, in any letter case", async () => {
  const longEnough = dictionary["passwords-common"].filter((word) => word.length >= 8).slice(0, 3_000);
  expect(longEnough).toHaveLength(3_000);
  const isRecognized = await Promise.all(
    longEnough.map((word, i) => isCommonPassword(i % 2 ? word : word.toUpperCase())),
  );
  expect(isRecognized.every(Boolean)).toBe(true);
});
