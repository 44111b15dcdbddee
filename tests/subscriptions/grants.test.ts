import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterEach, beforeAll, expect, test } from "vitest";
import { readExport } from "@/lib/accounts/export-account";
import { anonymizeBilling } from "@/lib/subscriptions/anonymize-billing";
import { expireGrants } from "@/lib/subscriptions/grants/grants";
import type { BatchGrantResults, GrantChange, Grants } from "@/lib/subscriptions/grants/schema";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { answerOf, call, get, post } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, emptyTables, withContext } from "@/tests/support/context";
import { loseResponses } from "@/tests/support/idempotency";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { activatedDevice } from "@/tests/support/push/push";
import { billingEvent, DAY_MS, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";
import { replay } from "@/tests/support/subscriptions/operator-actions";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const PATH = "/api/admin/billing/grants";
const REASON = "Waited a week, ticket 4711";

let admin: TestAccount;
let support: TestAccount;

beforeAll(async () => {
  await emptyTables();
  [admin, support] = [await accountWithRole("admin"), await accountWithRole("support")];
});

afterEach(clock.reset);

type Fields = Record<string, unknown>;

const grant = async ({ id: accountId }: { id: string }, fields: Fields = {}, { token } = admin) =>
  answerOf(await post(PATH, { accountId, entitlementId: "pro", reason: REASON, ...fields }, { token }));

async function granted(account: { id: string }, fields: Fields = { days: 30 }): Promise<GrantChange["grant"]> {
  const { status, body } = await grant(account, fields);
  expect(status).toBe(200);
  return body.grant;
}

const end = async (id: string, { token } = admin) =>
  answerOf(await call("DELETE", `${PATH}/${id}?reason=mistake`, { token }));

async function grantsOf({ email }: TestAccount): Promise<Grants["grants"]> {
  const response = await get(`${PATH}?account=${encodeURIComponent(email)}`, { token: support.token });
  return ((await response.json()) as Grants).grants;
}

const grantToEmails = async (fields: Fields, { token } = admin): Promise<BatchGrantResults["results"]> => {
  const response = await post(`${PATH}/batch`, { entitlementId: "beta", reason: "Beta 3.0", ...fields }, { token });
  return ((await response.json()) as BatchGrantResults).results;
};

const auditedOf = async ({ id: accountId }: { id: string }) =>
  ctx().db.auditEvent.findMany({
    where: { accountId, type: { in: ["entitlement_granted", "grant_ended"] } },
    select: { type: true, actor: true, details: true },
    orderBy: { id: "asc" },
  });

test("a grant with an Idempotency-Key is one, also if the process ended before it could answer", async () => {
  const ann = await newAccount();
  const headers = { "idempotency-key": randomUUID() };
  const fields = { accountId: ann.id, entitlementId: "pro", days: 30, reason: REASON };
  const send = async () => (await answerOf(await post(PATH, fields, { token: admin.token, headers }))).body;
  const first = await send();
  expect(first).toMatchObject({ isChanged: true });
  await loseResponses();
  expect(await send()).toMatchObject({ grant: { id: first.grant.id }, isChanged: false });
  expect(await grantsOf(ann)).toHaveLength(1);
  expect(await auditedOf(ann)).toHaveLength(1);
});

test("a grant counts in the status, the token and webhooks, never renews, and the list says who gave it and why", async () => {
  const ann = await newAccount();
  await newReceiver(["subscription.changed"]);
  const { id, endsAt } = await granted(ann);
  const status = await statusOf(ann);
  expect(status).toMatchObject({ status: "active", isActive: true, willRenew: false, store: "PROMOTIONAL" });
  expect(status.entitlements).toMatchObject([{ id: "pro", isActive: true, expiresAt: endsAt, purchaseId: id }]);
  const { token } = await (await get("/api/subscription/token?audience=app", { token: ann.token })).json();
  const expiresAt = Math.floor(Date.parse(String(endsAt)) / 1000);
  expect(decodeJwt(token)).toMatchObject({ entitlements: [{ id: "pro", expiresAt }] });
  expect(await ctx().db.webhookEvent.findMany({ select: { data: true } })).toMatchObject([
    { data: { accountId: ann.id, status: "active", previousStatus: "none", entitlements: ["pro"] } },
  ]);
  await removeEndpoints();
  expect(await grantsOf(ann)).toMatchObject([
    {
      id,
      entitlementId: "pro",
      isActive: true,
      granted: { actor: `account:${admin.id}`, name: admin.email, reason: REASON },
      ended: null,
    },
  ]);
  expect(await auditedOf(ann)).toEqual([
    {
      type: "entitlement_granted",
      actor: `account:${admin.id}`,
      details: { purchaseId: id, entitlementId: "pro", endsAt, reason: REASON },
    },
  ]);
});

test("beside a paid purchase and another grant, the later end counts, and ending one leaves the others", async () => {
  const ann = await newAccount();
  const paid = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id });
  await deliverOk(paid);
  const paidUntil = new Date(paid.expiration_at_ms as number).toISOString();
  const endOf = async () => (await statusOf(ann)).entitlements;
  await granted(ann, { days: 7 });
  expect(await endOf()).toMatchObject([{ id: "pro", expiresAt: paidUntil, store: "APP_STORE" }]);
  const longer = await granted(ann, { days: 90 });
  expect(await endOf()).toMatchObject([{ id: "pro", expiresAt: longer.endsAt, store: "PROMOTIONAL" }]);
  const lifetime = await granted(ann, { isLifetime: true });
  expect(await statusOf(ann)).toMatchObject({ isLifetime: true, entitlements: [{ expiresAt: null }] });
  await end(lifetime.id);
  await end(longer.id);
  expect(await endOf()).toMatchObject([{ id: "pro", isActive: true, expiresAt: paidUntil }]);
});

test("an ended grant gives nothing, says who ended it, and ends once", async () => {
  const ann = await newAccount();
  const { id } = await granted(ann, { isLifetime: true });
  const ended = await Promise.all([end(id), end(id), end(id)]);
  expect(ended.filter(({ body }) => body.isChanged)).toHaveLength(1);
  expect(ended.map(({ status, body }) => [status, body.grant.isActive])).toEqual(Array(3).fill([200, false]));
  expect(await statusOf(ann)).toMatchObject({
    status: "expired",
    isActive: false,
    entitlements: [{ isActive: false }],
  });
  expect(await grantsOf(ann)).toMatchObject([{ isActive: false, ended: { name: admin.email, reason: "mistake" } }]);
  expect(await auditedOf(ann)).toMatchObject([
    { type: "entitlement_granted" },
    { type: "grant_ended", details: { purchaseId: id, entitlementId: "pro", reason: "mistake" } },
  ]);
  expect(await end(randomUUID())).toMatchObject({ status: 404, body: { code: "not_found" } });
});

test("support grants and ends 30 days at most, an admin and an API key more, and a customer nothing", async () => {
  const ann = await newAccount();
  const tooLong = { status: 403, body: { code: "grant_too_long", maxDays: 30 } };
  const until = new Date(clock.now().getTime() + 31 * DAY_MS).toISOString();
  for (const terms of [{ days: 31 }, { isLifetime: true }, { until }])
    expect(await grant(ann, terms, support)).toMatchObject(tooLong);
  expect(await grant(ann, { days: 30 }, support)).toMatchObject({ status: 200, body: { isChanged: true } });
  const { id } = await granted(ann, { until });
  expect(await end(id, support)).toMatchObject(tooLong);
  const [latest, own] = await grantsOf(ann);
  expect([latest?.isActive, own?.granted.name]).toEqual([true, support.email]);
  expect((await end(own?.id ?? "", support)).status).toBe(200);
  const { key } = await newKey({ scopes: ["billing:write"] });
  const asKey = { ...admin, token: key };
  expect(await grant(ann, { days: 400 }, asKey)).toMatchObject({ status: 200 });
  expect((await grantsOf(ann))[0]?.granted).toMatchObject({ actor: expect.stringMatching(/^key:/), name: "CI" });
  for (const token of [ann.token, (await newKey({ scopes: ["billing:read"] })).key])
    expect(await grant(ann, { days: 1 }, { ...admin, token })).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
  const batch = await post(`${PATH}/batch`, { emails: [ann.email] }, { token: support.token });
  expect(batch.status).toBe(403);
});

test.each<[string, Fields]>([
  ["no end", {}],
  ["two ends", { days: 1, isLifetime: true }],
  ["an end in the past", { until: "2020-01-01T00:00:00Z" }],
  ["no time", { until: "tomorrow" }],
  ["no days", { days: 0 }],
  ["an empty reason", { days: 1, reason: " " }],
  ["an empty entitlement", { days: 1, entitlementId: " " }],
  ["a NUL", { days: 1, entitlementId: "a\0b" }],
])("a grant with %s is refused", async (_, fields) => {
  const ann = await newAccount();
  expect(await grant(ann, fields)).toMatchObject({ status: 422, body: { code: "validation_failed" } });
  expect(await grantsOf(ann)).toEqual([]);
});

test("a delivery that calls itself a grant gives nothing", async () => {
  const ann = await newAccount();
  expect(await deliverOk(billingEvent("GRANT", { app_user_id: ann.id }))).toBe("ignored");
  expect(await statusOf(ann)).toMatchObject({ status: "none" });
});

test("an unknown account is refused, and an entitlement that the configuration does not know", async () => {
  expect(await grant({ id: randomUUID() }, { days: 1 })).toMatchObject({ status: 404, body: { code: "not_found" } });
  const ann = await newAccount();
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id, entitlement_ids: ["bought"] }));
  await withContext({ config: { BILLING_PRODUCTS: new Map([["price_1", ["pro", "storage"]]]) } }, async () => {
    const refused = await grant(ann, { days: 1, entitlementId: "Pro" });
    expect(refused).toMatchObject({ status: 422, body: { code: "entitlement_unknown", known: ["pro", "storage"] } });
    for (const entitlementId of ["storage", "bought"]) await granted(ann, { days: 1, entitlementId });
  });
});

test("the same key, in any number of requests at once, grants once", async () => {
  const ann = await newAccount();
  const given = await Promise.all(Array.from({ length: 5 }, () => grant(ann, { days: 30, key: "click" })));
  expect(given.map(({ status }) => status)).toEqual(Array(5).fill(200));
  expect(given.filter(({ body }) => body.isChanged)).toHaveLength(1);
  expect(new Set(given.map(({ body }) => body.grant.id)).size).toBe(1);
  expect(await auditedOf(ann)).toHaveLength(1);
});

test("many emails are granted once, however often and at once, and a dry run changes nothing", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const emails = [ann.email.toUpperCase(), "nobody@example.com", ` ${bob.email} `, ann.email, "no email"];
  const statuses = ["granted", "unknown_account", "granted", "unchanged", "unknown_account"];
  const dry = await grantToEmails({ emails, days: 60, isDryRun: true });
  expect(dry).toEqual(emails.map((email, i) => ({ email, status: statuses[i] })));
  expect(await grantsOf(ann)).toEqual([]);
  const [first, second] = await Promise.all([grantToEmails({ emails, days: 60 }), grantToEmails({ emails, days: 60 })]);
  const counts = [first, second].map((results) => results.filter(({ status }) => status === "granted").length);
  expect(counts.toSorted()).toEqual([0, 2]);
  clock.advance(DAY_MS);
  const key = { ...admin, token: (await newKey({ scopes: ["billing:write"] })).key };
  const unchanged = statuses.map((status) => (status === "granted" ? "unchanged" : status));
  for (const isDryRun of [true, false])
    expect((await grantToEmails({ emails, days: 60, isDryRun }, key)).map(({ status }) => status)).toEqual(unchanged);
  expect([(await grantsOf(ann)).length, (await grantsOf(bob)).length]).toEqual([1, 1]);
  await grantToEmails({ emails, days: 60, reason: "Beta 3.1" }, key);
  expect(await grantsOf(ann)).toHaveLength(2);
});

test("the app is woken by a grant, and its owner is notified of the end once, as webhooks are", async () => {
  const { account: ann, device } = await activatedDevice();
  await newReceiver(["subscription.changed"]);
  await granted(ann, { days: 30 });
  const kinds = async () => (await deliveriesOf({ deviceId: device.id })).map(({ kind }) => kind);
  const billing = async () => (await kinds()).filter((kind) => kind.startsWith("billing."));
  expect(await billing()).toEqual(["billing.changed"]);
  clock.advance(30 * DAY_MS - 60_000);
  await expireGrants(ctx());
  expect(await billing()).toEqual(["billing.changed"]);
  clock.advance(61_000);
  await Promise.all([expireGrants(ctx()), expireGrants(ctx())]);
  await expireGrants(ctx());
  expect(await billing()).toEqual(["billing.changed", "billing.expired"]);
  const changes = await ctx().db.webhookEvent.findMany({
    where: { accountId: ann.id },
    orderBy: { id: "asc" },
    select: { data: true },
  });
  expect(changes).toMatchObject([
    { data: { status: "active" } },
    { data: { status: "expired", previousStatus: "active", entitlements: [] } },
  ]);
  await removeEndpoints();
});

test("a replay leaves a grant as it is, with its timeline", async () => {
  const ann = await newAccount();
  const { id } = await granted(ann);
  await end(id);
  const before = await ctx().db.purchase.findUniqueOrThrow({ where: { id } });
  expect(await replay("all")).not.toMatchObject({ failed: expect.anything() });
  const after = await ctx().db.purchase.findUniqueOrThrow({ where: { id } });
  expect({ ...after, updatedAt: null }).toEqual({ ...before, updatedAt: null });
  const response = await get(`/api/admin/billing/purchases/${id}`, { token: support.token });
  expect(await response.json()).toMatchObject({
    isCurrent: true,
    steps: [{ event: { type: "GRANT_ENDED" } }, { event: { type: "GRANT" } }],
  });
  const events = await get(
    `/api/admin/billing/events?event=${encodeURIComponent(`grant:${before.originalTransactionId}`)}`,
    { token: support.token },
  );
  expect(await events.json()).toMatchObject({ events: [{ type: "GRANT", provider: "homeport" }] });
});

test("the owner's export has the grant without the operator, and a deletion leaves nothing personal, and nothing to assign", async () => {
  const ann = await newAccount();
  const { id } = await granted(ann);
  const exported = await readExport(ctx(), ann.id, clock.now());
  expect(exported).toMatchObject({
    subscriptions: [{ store: "PROMOTIONAL", entitlementIds: ["pro"] }],
    billingEvents: [{ type: "GRANT", normalized: { entitlementIds: ["pro"] } }],
  });
  expect(JSON.stringify(exported)).not.toContain(REASON);
  expect(JSON.stringify(exported)).not.toContain(admin.id);
  await ctx().db.$transaction(async (tx) => {
    await anonymizeBilling(tx, ann.id);
    await tx.account.delete({ where: { id: ann.id } });
  });
  const left = await ctx().db.purchase.findUniqueOrThrow({ where: { id }, include: { events: true } });
  expect(left).toMatchObject({ accountId: null, entitlementIds: ["pro"], events: [{ type: "GRANT" }] });
  for (const personal of [ann.id, REASON, admin.id]) expect(JSON.stringify(left)).not.toContain(personal);
  expect(await end(id)).toMatchObject({ status: 404 });
  const bob = { purchaseId: id, accountId: (await newAccount()).id };
  const { token } = admin;
  expect(await answerOf(await post("/api/admin/billing/assignments", bob, { token }))).toMatchObject({
    status: 409,
    body: { code: "assignment_conflict", reason: "grant" },
  });
});
