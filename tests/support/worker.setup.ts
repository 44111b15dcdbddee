import { beforeAll, beforeEach } from "vitest";
import { clock, openTestContext, truncate } from "./context";

beforeAll(async () => {
  await openTestContext();
  await truncate();
});

beforeEach(() => clock.reset());
