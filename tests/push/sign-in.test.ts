import { expect, test } from "vitest";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { accountWithDevices } from "@/tests/support/push/push";

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36";

test.each([
  ["the name that it gives itself", { deviceName: "Ann's Mac" }, {}, "Ann's Mac"],
  ["its browser and system", {}, { "user-agent": CHROME }, "Chrome, Windows"],
  ["no more than that it is another device", {}, { "user-agent": "\u00fc" }, "another device"],
])("a sign-in notifies each device of the account once, with %s", async (_, how, headers, client) => {
  const [account, ...devices] = await accountWithDevices(2);
  const { email, password } = account;
  expect((await post("/api/auth/login", { email, password, ...how }, { headers })).status).toBe(200);
  const rows = (await Promise.all(devices.map(({ id }) => deliveriesOf({ deviceId: id })))).flat();
  expect(rows.map(({ deviceId }) => deviceId).sort()).toEqual(devices.map(({ id }) => id).sort());
  for (const { kind, payload } of rows) {
    expect(kind).toBe("security.new_sign_in");
    expect(payload).toMatchObject({ aps: { alert: { "loc-args": [client] }, "interruption-level": "time-sensitive" } });
  }
});

test("a failed sign-in notifies no device", async () => {
  const [account] = await accountWithDevices(1);
  expect((await post("/api/auth/login", { email: account.email, password: "not this one" })).status).toBe(401);
  expect(await ctx().db.pushMessage.count({ where: { accountId: account.id } })).toBe(0);
});
