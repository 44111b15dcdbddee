import { expect, test } from "vitest";
import { eventsOf, newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";

const DELETE = "/api/auth/account/delete";
const EXPORT = "/api/auth/account/export";

// ASVS 7.5.3
test("a deletion requires the right password and keeps nothing of the account except its events", async () => {
  const { id, email, password, token } = await newAccount();
  expect((await post("/api/push/register", { token: "ab".repeat(32) }, { token })).status).toBe(202);
  for (const wrong of [undefined, "not the password"]) {
    const refused = await post(DELETE, { confirm: "DELETE", password: wrong }, { token });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: "reauthentication_required" });
  }
  const response = await post(DELETE, { confirm: "DELETE", password }, { token });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "deleted", subscriptions: [], storeSubscriptionsCancelled: false });
  expect((await get(EXPORT, { token })).status).toBe(401);
  expect((await post("/api/auth/login", { email, password })).status).toBe(401);
  const where = { accountId: id };
  const { db } = ctx();
  expect(await db.session.count({ where })).toBe(0);
  expect(await db.pushDevice.count({ where })).toBe(0);
  expect((await eventsOf(id)).sort()).toEqual(["account_deleted", "registered", "sign_in_failed"]);
});

test("an account without a password can be deleted only after a recent sign-in", async () => {
  const { id, token } = await newAccount();
  await ctx().db.account.update({ where: { id }, data: { passwordHash: null } });
  clock.advance(11 * 60 * 1000);
  expect((await post(DELETE, { confirm: "DELETE" }, { token })).status).toBe(403);
  clock.reset();
  expect((await post(DELETE, { confirm: "DELETE" }, { token })).status).toBe(200);
});

test("a deletion requires the word DELETE, a session and, with a cookie, the service's own origin", async () => {
  const { email, password, token } = await newAccount();
  expect((await post(DELETE, { password }, { token })).status).toBe(422);
  expect((await post(DELETE, { confirm: "DELETE", password })).status).toBe(401);
  const login = await post("/api/auth/login", { email, password }, { headers: { origin: "http://localhost:3000" } });
  const cookie = (login.headers.get("set-cookie") ?? "").split(";", 1)[0];
  const foreign = { cookie, headers: { "sec-fetch-site": "cross-site", origin: "https://evil.example" } };
  expect((await post(DELETE, { confirm: "DELETE", password }, foreign)).status).toBe(403);
  const own = { cookie, headers: { "sec-fetch-site": "same-origin" } };
  const response = await post(DELETE, { confirm: "DELETE", password }, own);
  expect(response.status).toBe(200);
  expect(response.headers.get("set-cookie")).toContain("Expires=Thu, 01 Jan 1970");
});

// ASVS 14.2.6
test("the export is one file with all stored data and no secrets", async () => {
  const { id, email, token, sessionId } = await newAccount();
  const pushToken = "cd".repeat(32);
  await post("/api/push/register", { token: pushToken, device: { name: "Ann's iPhone" } }, { token });
  const { passwordHash } = await ctx().db.account.findUniqueOrThrow({ where: { id } });
  const response = await get(EXPORT, { token });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="account-export-\d{4}-\d\d-\d\d\.json"$/,
  );
  const text = await response.text();
  for (const secret of [token, pushToken, passwordHash ?? "", "passwordHash"]) expect(text).not.toContain(secret);
  expect(JSON.parse(text)).toMatchObject({
    schema: "account-export",
    schemaVersion: 1,
    account: { id, email },
    identities: [],
    sessions: [{ id: sessionId }],
    devices: [{ name: "Ann's iPhone" }],
    subscriptions: [],
    billingEvents: [],
    securityEvents: [{ type: "registered" }, { type: "exported" }],
  });
});

test("the export requires a recent authentication", async () => {
  const { password, token } = await newAccount();
  clock.advance(11 * 60 * 1000);
  const refused = await get(EXPORT, { token });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ code: "reauthentication_required" });
  expect((await post("/api/auth/reauthenticate", { password }, { token })).status).toBe(200);
  expect((await get(EXPORT, { token })).status).toBe(200);
});

// ASVS 2.3.2
test("the export requires a session and is limited to five a day", async () => {
  expect((await get(EXPORT)).status).toBe(401);
  const { token } = await newAccount();
  for (let i = 0; i < 5; i++) expect((await get(EXPORT, { token })).status).toBe(200);
  expect((await get(EXPORT, { token })).status).toBe(429);
});
