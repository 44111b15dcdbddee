import { expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";

const MOVE = "/api/admin/database/move";
const TO = { to: "postgres://homeport:secret@127.0.0.1:1/homeport" };

test("nobody but the operator at the service's machine may move the database, or see how far it is", async () => {
  expect((await get(MOVE)).status).toBe(401);
  const { token } = await accountWithRole("admin");
  for (const response of [
    await get(MOVE, { token }),
    await call("POST", MOVE, { token, json: TO }),
    await call("DELETE", MOVE, { token }),
  ]) {
    expect([response.status, await response.json()]).toEqual([403, expect.objectContaining({ code: "forbidden" })]);
  }
});
