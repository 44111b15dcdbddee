import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { readShownSecret } from "@/lib/platform/http/pages/page-cookies";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { newProtectedAccount } from "@/tests/support/auth/authenticator";
import { operatorWithRole } from "@/tests/support/console/operators";
import { ctx } from "@/tests/support/context";
import { cookiesOf, flashOf, submit } from "@/tests/support/web/forms";

const reason = "Asked for by telephone";
const locationOf = (response: Response) => response.headers.get("location");
const isSignedIn = async ({ token }: TestAccount) => (await get("/api/subscription/status", { token })).status === 200;

let admin: Awaited<ReturnType<typeof operatorWithRole>>;

beforeAll(async () => {
  admin = await operatorWithRole("admin");
});

function send(form: string, account: { id: string }, fields: Record<string, string> = {}, { cookie } = admin) {
  const returnTo = `/console/accounts/${account.id}`;
  return submit(`console/${form}`, { accountId: account.id, reason, returnTo, ...fields }, { cookie });
}

const read = ({ id }: TestAccount) => ctx().db.account.findUniqueOrThrow({ where: { id } });

test("a form disables, enables and changes the role, with the reason in the trail, and returns to the page", async () => {
  const account = await newAccount();
  const page = `/console/accounts/${account.id}`;
  expect(locationOf(await send("disableAccount", account))).toBe(`${page}?done=disabled`);
  expect((await read(account)).disabledAt).not.toBeNull();
  expect(locationOf(await send("enableAccount", account))).toBe(`${page}?done=enabled`);
  expect(locationOf(await send("setAccountRole", account, { role: "support" }))).toBe(`${page}?done=role_changed`);
  expect(await read(account)).toMatchObject({ disabledAt: null, role: "support" });
  const events = await ctx().db.auditEvent.findMany({
    where: { accountId: account.id, type: { in: ["account_disabled", "account_enabled", "role_changed"] } },
  });
  expect(events).toHaveLength(3);
  for (const { actor, details } of events) {
    expect({ actor, details }).toMatchObject({ actor: `account:${admin.id}`, details: { reason } });
  }
});

test("a form ends one session or all, also for support", async () => {
  const support = await operatorWithRole("support");
  const account = await newAccount();
  const one = await send("endAccountSession", account, { sessionId: account.sessionId }, support);
  expect(locationOf(one)).toContain("done=session_ended");
  expect(await isSignedIn(account)).toBe(false);
  expect(locationOf(await send("endAccountSessions", account, {}, support))).toContain("done=sessions_ended");
});

test("a form unlinks a provider, resets factors, and deletes the account", async () => {
  const account = await newProtectedAccount();
  const identity = { provider: "github", issuer: "https://github.com", subject: randomUUID() };
  await ctx().db.identity.create({ data: { ...identity, accountId: account.id } });
  expect(locationOf(await send("unlinkAccountProvider", account, { provider: "github" }))).toContain("done=unlinked");
  expect(locationOf(await send("resetAccountFactors", account))).toContain("done=factors_reset");
  expect(flashOf(await send("resetAccountFactors", account))?.message).toMatch(/no second factor/);
  const made = await send("createAccountRecoveryCode", account);
  expect(locationOf(made)).toContain("done=code_created");
  const shown = readShownSecret(ctx(), admin.id, "recovery-code", new Headers({ cookie: cookiesOf(made) }));
  expect(await shown).toMatch(/^(?:[0-9A-Z]{6}-){3}[0-9A-Z]{6}$/);
  expect(locationOf(await send("deleteAccountAsOperator", account))).toBe("/console/accounts?done=deleted");
  expect(await eventsOf(account.id)).toContain("account_deleted");
});

test("a form that is sent twice grants once, and for support at most what support may grant; another ends the grant", async () => {
  const support = await operatorWithRole("support");
  const account = await newAccount();
  const grant = { entitlementId: "pro", term: "30", key: randomUUID() };
  const sent = await Promise.all([1, 2].map(() => send("grantEntitlement", account, grant, support)));
  expect(sent.map(locationOf)).toEqual(Array(2).fill(`/console/accounts/${account.id}?done=granted`));
  const [purchase, ...others] = await ctx().db.purchase.findMany({ where: { accountId: account.id } });
  expect([purchase?.entitlementIds, others]).toEqual([["pro"], []]);
  const refused = async (fields: object) =>
    flashOf(await send("grantEntitlement", account, { ...grant, key: randomUUID(), ...fields }, support))?.fields;
  expect(await refused({ term: "90" })).toEqual({ term: expect.stringContaining("30 days") });
  expect(await refused({ term: "until" })).toEqual({ until: "Required" });
  expect(await refused({ term: "until", until: "2020-01-01T00:00" })).toEqual({ until: "Must be in the future" });
  expect(await refused({ reason: "" })).toHaveProperty("reason");
  const ended = await send("endGrant", account, { id: purchase?.id ?? "" }, support);
  expect(locationOf(ended)).toContain("done=grant_ended");
  expect(await ctx().db.purchase.count({ where: { accountId: account.id, endedAt: null } })).toBe(0);
});

test("a form leads to the download of an export", async () => {
  const account = await newAccount();
  const to = locationOf(await send("downloadAccountExport", account));
  expect(to).toBe(`/api/admin/accounts/${account.id}/export?reason=Asked+for+by+telephone`);
  const download = await get(to ?? "", { cookie: admin.cookie, headers: { "sec-fetch-site": "same-origin" } });
  expect(await download.json()).toMatchObject({ account: { id: account.id } });
  const elsewhere = await get(to ?? "", { cookie: admin.cookie, headers: { "sec-fetch-site": "cross-site" } });
  expect(elsewhere.status).toBe(403);
});

test.each(["disableAccount", "enableAccount", "setAccountRole", "unlinkAccountProvider", "deleteAccountAsOperator"])(
  "%s is refused without a reason, and changes nothing",
  async (form) => {
    const account = await newAccount();
    const refused = await send(form, account, { role: "admin", provider: "google", reason: "" });
    expect(Object.keys(flashOf(refused)?.fields ?? {})).toEqual(["reason"]);
    expect(await eventsOf(account.id)).toEqual(["registered"]);
  },
);

test("forms create an account and invite its owner again; an email that is taken is named at its field", async () => {
  const email = `added-${randomUUID()}@example.com`;
  const fields = { email, name: "", locale: "de", invite: "on", returnTo: "/console/accounts/new" };
  const created = await submit("console/createAccount", fields, { cookie: admin.cookie });
  const account = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  expect(locationOf(created)).toBe(`/console/accounts/${account.id}?done=created_and_invited`);
  expect(account).toMatchObject({ name: null, locale: "de", passwordHash: null });
  expect(locationOf(await send("inviteAccount", account))).toContain("done=invited");
  const again = await submit("console/createAccount", fields, { cookie: admin.cookie });
  expect(flashOf(again)).toMatchObject({ fields: { email: expect.stringContaining(account.id) }, values: { email } });
});
