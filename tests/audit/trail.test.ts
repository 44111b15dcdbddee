import { describe, expect, test } from "vitest";
import { setRole } from "@/lib/accounts/admin/change-account";
import { deleteAccountAsOperator } from "@/lib/accounts/delete-account";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { listSecurityEvents } from "@/lib/platform/audit/list-events";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole, OPERATOR } from "@/tests/support/auth/api-keys";
import { clock, ctx, databaseAfter, SECRET, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

const DAY_MS = 24 * 60 * 60 * 1000;
const CLIENT = { ip: "203.0.113.7", headers: { "user-agent": "Homeport/1.0 (trail)" } };

/** Writes an event as version 1.0 does. */
const writeAsBefore = (accountId: string, type: "signed_out" | "account_deleted", userAgent = "Homeport/1.0 (old)") =>
  ctx().db.securityEvent.create({ data: { accountId, type, at: ctx().now(), network: "192.0.2.0/24", userAgent } });

const exportOf = async (token: string) => (await get("/api/auth/account/export", { token })).json();

describe("of a deleted account", () => {
  // ASVS 14.2.4
  test("the trail has the events under a pseudonym, without network, client and details, and an operator finds them by the id", async () => {
    const account = await newAccount();
    await post("/api/auth/login", { email: account.email, password: "a wrong one" }, CLIENT);
    await setRole(ctx(), OPERATOR, account.id, { role: "support" });
    await deleteAccountAsOperator(ctx(), { ...OPERATOR, actor: "operator:ann" }, account.id);
    expect(await ctx().db.auditEvent.count({ where: { accountId: account.id } })).toBe(0);
    const events = await listSecurityEvents(ctx(), account.id, 10);
    expect(events.map(({ type, actor }) => [type, actor])).toEqual([
      ["account_deleted", "operator:ann"],
      ["role_changed", "operator"],
      ["sign_in_failed", "account"],
      ["registered", "account"],
    ]);
    for (const event of events) expect(event).toMatchObject({ network: null, userAgent: null, details: null });
  });

  test("the events are found by the secret that made the pseudonym alone", async () => {
    const account = await newAccount();
    await deleteAccountAsOperator(ctx(), OPERATOR, account.id);
    const other = "another secret of thirty-two characters";
    const listWith = (secrets: readonly [string, ...string[]]) =>
      withContext({ config: { secrets } }, () => listSecurityEvents(ctx(), account.id, 10));
    expect(await listWith([other])).toEqual([]);
    expect(await listWith([other, SECRET])).not.toEqual([]);
  });

  test("sign-ins during the deletion leave no event under the id", async () => {
    for (let round = 0; round < 5; round++) {
      const { id, email, password, token } = await newAccount();
      const attempts = Array.from({ length: 6 }, (_, i) =>
        post("/api/auth/login", { email, password: i % 2 === 0 ? password : "a wrong one" }),
      );
      await Promise.all([...attempts, post("/api/auth/account/delete", { confirm: "DELETE", password }, { token })]);
      expect(await ctx().db.auditEvent.count({ where: { accountId: id } })).toBe(0);
      expect(await eventsOf(id)).toContain("account_deleted");
    }
  });

  test("whose email was not verified in time, retention keeps the events under the pseudonym", async () => {
    const email = `late-${crypto.randomUUID()}@example.com`;
    const id = await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
      await post("/api/auth/register", { email, password: "a good long password" });
      const account = await ctx().db.account.findUniqueOrThrow({ where: { email } });
      await mailbox.waitFor(email); // a link that is made later would be valid later
      clock.advance(31 * DAY_MS);
      await removeExpiredRows(ctx());
      return account.id;
    });
    expect(await ctx().db.auditEvent.count({ where: { accountId: id } })).toBe(0);
    expect(await eventsOf(id)).toEqual(["registered"]);
  });
});

describe("an operator whose account is deleted or disabled while a request runs", () => {
  const deleteOwn = ({ password, token }: TestAccount) =>
    post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });
  const disable = ({ id }: TestAccount) =>
    ctx().db.account.update({ where: { id }, data: { disabledAt: clock.now() } });

  describe.each([
    ["deleted", deleteOwn],
    ["disabled", disable],
  ])("%s", (_, end) => {
    test.each<[string, (account: TestAccount, token: string) => Promise<Response>, "$executeRaw"?]>([
      ["creates no key", (_, token) => post("/api/admin/keys", { name: "CI", scopes: ["audit:read"] }, { token })],
      ["disables no account", ({ id }, token) => post(`/api/admin/accounts/${id}/disable`, {}, { token })],
      ["deletes no account", ({ id }, token) => call("DELETE", `/api/admin/accounts/${id}`, { token })],
      ["imports no account", (_, token) => importAccount(token), "$executeRaw"],
      ["imports and invites no account", (_, token) => importAccount(token, "?notify=true")],
    ])("%s", async (_, change, first) => {
      await accountWithRole("admin");
      const admin = await accountWithRole("admin");
      const account = await newAccount();
      const read = async () => {
        const where = { id: { not: admin.id } };
        const accounts = await ctx().db.account.findMany({ where, orderBy: { id: "asc" } });
        return { accounts, keys: await ctx().db.apiKey.findMany() };
      };
      const before = await read();
      const db = databaseAfter(() => end(admin), first);
      expect((await withContext({ db }, () => change(account, admin.token))).status).toBe(401);
      expect(await read()).toEqual(before);
      expect(await ctx().db.auditEvent.count({ where: { actor: `account:${admin.id}` } })).toBe(0);
    });
  });
});

function importAccount(token: string, query = "") {
  const body = JSON.stringify({ email: `moved-${crypto.randomUUID()}@example.com` });
  const headers = { "content-type": "application/x-ndjson" };
  return call("POST", `/api/admin/accounts/import${query}`, { body, token, headers });
}

describe("events that an instance of version 1.0 writes during an upgrade", () => {
  test("are in the trail and in the account's export at once", async () => {
    const { id, token } = await newAccount();
    await writeAsBefore(id, "signed_out");
    await writeAsBefore(id, "signed_out", "operator");
    expect(await ctx().db.securityEvent.count()).toBe(0);
    const events = await listSecurityEvents(ctx(), id, 2);
    expect(events.map(({ actor, userAgent }) => [actor, userAgent])).toContainEqual(["account", "Homeport/1.0 (old)"]);
    expect(events.map(({ actor, userAgent }) => [actor, userAgent])).toContainEqual(["operator", null]);
    const { securityEvents } = await exportOf(token);
    const types = securityEvents.map(({ type }: { type: string }) => type);
    expect(types).toEqual(["registered", "signed_out", "signed_out", "exported"]);
  });

  test("of an account that it deletes leave nothing under the account's id", async () => {
    const { id } = await newAccount();
    await ctx().db.account.delete({ where: { id } });
    await writeAsBefore(id, "account_deleted");
    expect(await eventsOf(id)).toEqual([]);
  });

  test("are deleted with their account by this build", async () => {
    const { id, password, token } = await newAccount();
    await writeAsBefore(id, "signed_out");
    expect((await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token })).status).toBe(200);
    expect(await ctx().db.auditEvent.count({ where: { accountId: id } })).toBe(0);
    expect(await eventsOf(id)).toEqual(["registered", "signed_out", "account_deleted"]);
  });
});
