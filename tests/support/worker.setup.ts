import { beforeAll, beforeEach } from "vitest";
import { clock, openTestContext, truncate } from "./context";
import { openDoor } from "./door";

beforeAll(async () => {
  await openTestContext();
  await truncate();
  await openDoor();
});

beforeEach(() => clock.reset());
