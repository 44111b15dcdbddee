import { beforeAll, beforeEach } from "vitest";
import { clock, openTestContext, truncate } from "@/tests/support/context";
import { openDoor } from "@/tests/support/door";

// Before the file's own lines and hooks, for which a test of the file before may have left the clock ahead.
clock.reset();

beforeAll(async () => {
  await openTestContext();
  await truncate();
  await openDoor();
});

beforeEach(() => clock.reset());
