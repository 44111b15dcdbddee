import { beforeAll, beforeEach } from "vitest";
import { clock, emptyTables, openTestContext } from "@/tests/support/context";
import { openServer } from "@/tests/support/server";

// A test of the file before may have left the clock ahead.
clock.reset();

beforeAll(async () => {
  await openTestContext();
  await emptyTables();
  await openServer();
});

beforeEach(() => clock.reset());
