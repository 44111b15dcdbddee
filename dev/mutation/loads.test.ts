import { expect, test } from "vitest";

/** Stryker counts a file of tests that does not run as one that does not fail: here it does. */
test("the state of a purchase without events, which is computed when its file is loaded, is one", async () => {
  expect(await import("@/lib/subscriptions/fold/periods")).toHaveProperty("EMPTY_STATE");
});
