import { beforeAll, beforeEach } from "vitest";
import { clock, openTestContext, truncate } from "@/tests/support/context";
import { openServer } from "@/tests/support/server";

// A test of the file before may have left the clock ahead.
clock.reset();

beforeAll(async () => {
  await openTestContext();
  await truncate();
  await openServer();
});

beforeEach(() => clock.reset());
