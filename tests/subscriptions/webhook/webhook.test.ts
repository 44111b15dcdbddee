import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import {
  billingEvent,
  DAY_MS,
  deliver,
  deliverOk,
  deliverRaw,
  initialPurchase,
  signature,
  storedEvent,
} from "@/tests/support/subscriptions/billing";

const lineOf = async (eventId: string) => (await storedEvent(eventId))?.purchase;

test("an authenticated delivery is stored without the customer's attributes and folded into its purchase", async () => {
  const event = initialPurchase(randomUUID());
  const { subscriber_attributes: _, ...kept } = event;
  const response = await deliver(event);
  expect([response.status, await response.json()]).toEqual([200, { status: "processed", eventId: event.id }]);
  expect(await storedEvent(event.id)).toMatchObject({
    provider: "revenuecat",
    state: "processed",
    reason: null,
    payload: { api_version: "1.0", event: kept },
    appUserIds: [event.app_user_id, event.original_app_user_id, ...(event.aliases as string[])],
    accountId: null,
    purchase: { environment: "PRODUCTION", store: "APP_STORE", productId: event.product_id, entitlementIds: ["pro"] },
  });
});

test.each([
  "TEST",
  "INVOICE_ISSUANCE",
  "PAYWALL_IMPRESSION",
  "PRICE_INCREASE_CONSENT_REQUIRED",
  "SOMETHING_NEW",
  "SNAPSHOT",
  "IMPORT",
  "__proto__",
])("%s is stored and ignored", async (type) => {
  const event = billingEvent(type, { something_new: { nested: [1, "two"] } });
  expect(await deliverOk(event)).toBe("ignored");
  expect(await storedEvent(event.id)).toMatchObject({
    type,
    state: "ignored",
    reason: "type_not_applied",
    purchaseId: null,
  });
});

test("an event with nothing but an id, or with every field of the wrong type, is no error", async () => {
  const bare = { id: randomUUID() };
  expect(await deliverOk(bare)).toBe("ignored");
  const fields = Object.keys(billingEvent("RENEWAL")).filter((name) => name !== "id" && name !== "type");
  const [times, others] = [
    fields.filter((name) => name.endsWith("_ms")),
    fields.filter((name) => !name.endsWith("_ms")),
  ];
  for (const value of [null, [], {}, true, -1, 1e308, "", "\u0000", "x".repeat(5000)]) {
    const event = { ...Object.fromEntries(others.map((name) => [name, value])), id: randomUUID(), type: "RENEWAL" };
    expect(["failed", "processed"]).toContain(await deliverOk(event));
  }
  for (const value of [null, -1, 1e308]) {
    const event = billingEvent("RENEWAL", Object.fromEntries(times.map((name) => [name, value])));
    expect(await deliverOk(event)).toBe("processed");
  }
});

test.each([
  "event_timestamp_ms",
  "purchased_at_ms",
  "expiration_at_ms",
  "grace_period_expiration_at_ms",
  "auto_resume_at_ms",
])("a text, a list or an object in place of %s is refused with its name, and kept as failed", async (field) => {
  for (const value of ["1795165200000", "2026-11-20T09:00:00Z", "", [], {}, true]) {
    const event = { ...initialPurchase(randomUUID()), [field]: value };
    const response = await deliver(event);
    expect([value, response.status]).toEqual([value, 422]);
    expect((await response.json()).errors).toMatchObject([{ pointer: `/event/${field}` }]);
    expect(await storedEvent(event.id)).toMatchObject({ state: "failed", reason: "time_invalid", purchase: null });
  }
});

test("text that a database cannot keep is replaced, and the delivery is not lost", async () => {
  const event = billingEvent("INITIAL_PURCHASE", { product_id: "a\u0000b", note: "\ud800", "key\u0000": 1 });
  expect(await deliverOk(event)).toBe("processed");
  expect(await storedEvent(event.id)).toMatchObject({
    purchase: { productId: "a\ufffdb" },
    payload: { event: { note: "\ufffd", "key\ufffd": 1 } },
  });
});

test("a payload that is nested ten thousand levels deep is taken", async () => {
  const event = initialPurchase(randomUUID());
  const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
  const objects = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
  const body = JSON.stringify({ event: { ...event, deep: "DEEP", objects: "OBJECTS" } });
  expect((await deliverRaw(body.replace('"DEEP"', deep).replace('"OBJECTS"', objects))).status).toBe(200);
  expect(await storedEvent(event.id)).toMatchObject({ state: "processed" });
});

test("absurd times do no harm: one that lies more than a day ahead counts as the receipt's", async () => {
  const now = clock.now().getTime();
  const far = billingEvent("RENEWAL", { event_timestamp_ms: 78_766_300_800_000, purchased_at_ms: now + 2 * DAY_MS });
  await deliverOk(far);
  const row = await storedEvent(far.id);
  expect(row?.occurredAt).toEqual(row?.receivedAt);
  expect(row?.purchasedAt).toEqual(row?.receivedAt);
  for (const time of [-1, 0, 1.5, -1e300, 1e300, Number.MAX_SAFE_INTEGER]) {
    const event = billingEvent("RENEWAL", {
      event_timestamp_ms: time,
      purchased_at_ms: time,
      expiration_at_ms: time,
      grace_period_expiration_at_ms: time,
      auto_resume_at_ms: time,
    });
    expect(await deliverOk(event)).toBe("processed");
  }
});

test("Google's numbered renewals belong to the purchase of their first purchase", async () => {
  const id = `GPA.${randomUUID()}`;
  const first = billingEvent("INITIAL_PURCHASE", { store: "PLAY_STORE", original_transaction_id: id });
  const second = billingEvent("RENEWAL", { store: "PLAY_STORE", original_transaction_id: `${id}..11` });
  await deliverOk(first);
  await deliverOk(second);
  expect((await lineOf(second.id))?.id).toBe((await lineOf(first.id))?.id);
  expect((await lineOf(second.id))?.originalTransactionId).toBe(id);
});

test("an older event's single entitlement is read, and null means none", async () => {
  const older = billingEvent("INITIAL_PURCHASE", { entitlement_ids: undefined, entitlement_id: "gold" });
  const none = billingEvent("INITIAL_PURCHASE", { entitlement_ids: null, entitlement_id: null });
  await deliverOk(older);
  await deliverOk(none);
  expect((await lineOf(older.id))?.entitlementIds).toEqual(["gold"]);
  expect((await lineOf(none.id))?.entitlementIds).toEqual([]);
});

test("an event counts once, however often it is delivered, and the first delivery is the one kept", async () => {
  const event = initialPurchase(randomUUID());
  expect(await deliverOk(event)).toBe("processed");
  expect(await deliverOk({ ...event, product_id: "something.else" })).toBe("duplicate");
  expect((await lineOf(event.id))?.productId).toBe(event.product_id);
  expect(await ctx().db.billingEvent.count({ where: { eventId: event.id } })).toBe(1);
});

test("an event that was stored but not applied is applied when it is delivered again", async () => {
  const event = initialPurchase(randomUUID());
  await deliverOk(event);
  const { purchaseId } = (await storedEvent(event.id)) ?? {};
  await ctx().db.billingEvent.updateMany({
    where: { eventId: event.id },
    data: { state: "received", purchaseId: null },
  });
  await ctx().db.purchase.deleteMany({ where: { id: purchaseId ?? "" } });
  expect(await deliverOk(event)).toBe("processed");
  expect(await lineOf(event.id)).toMatchObject({ productId: event.product_id, lastEventAt: expect.any(Date) });
});

test("a database that is out of reach is 503, so that the provider delivers again", async () => {
  const lost = Object.assign(new Error("connection terminated"), { code: "P1017" });
  const db = new Proxy(ctx().db, {
    get: (target, name, receiver) =>
      name === "$transaction" ? () => Promise.reject(lost) : Reflect.get(target, name, receiver),
  });
  const event = initialPurchase(randomUUID());
  await withContext({ db }, async () => expect((await deliver(event)).status).toBe(503));
  expect(await deliverOk(event)).toBe("processed");
});

test("an event belongs to the account that it names, in any letter case, by any of its names", async () => {
  const { id } = await newAccount();
  const anonymous = "$RCAnonymousID:8069238d6049ce87cc529853916d624c";
  const by = [
    { app_user_id: id },
    { app_user_id: id.toUpperCase() },
    { app_user_id: anonymous, original_app_user_id: id },
    { app_user_id: "someone", original_app_user_id: anonymous, aliases: [anonymous, id] },
  ];
  for (const names of by) {
    const event = billingEvent("INITIAL_PURCHASE", names);
    await deliverOk(event);
    expect(await storedEvent(event.id)).toMatchObject({ accountId: id, reason: null, purchase: { accountId: id } });
  }
});

test("of two accounts app_user_id wins, and the event says that there were two", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const event = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id, original_app_user_id: bob.id });
  await deliverOk(event);
  expect(await storedEvent(event.id)).toMatchObject({ accountId: ann.id, reason: "names_several_accounts" });
  expect(await (await get("/api/subscription/status", { token: bob.token })).json()).toMatchObject({ status: "none" });
});

test("an email in an event links nothing and is not stored", async () => {
  const { email } = await newAccount();
  const event = billingEvent("INITIAL_PURCHASE", {
    app_user_id: email,
    aliases: [email.toUpperCase()],
    subscriber_attributes: { $email: { value: email } },
  });
  await deliverOk(event);
  const row = await storedEvent(event.id);
  expect(row).toMatchObject({ accountId: null, appUserIds: [expect.stringMatching(/^sha256:/), expect.anything()] });
  expect(JSON.stringify(row).toLowerCase()).not.toContain(email.toLowerCase());
});

const stored = (eventId: string) => ctx().db.billingEvent.findFirst({ where: { eventId } });

const problem = async (response: Response) => [response.status, ((await response.json()) as { code: string }).code];

test.each([
  ["no signature", () => ({ "x-revenuecat-webhook-signature": undefined })],
  ["a signature that is none", () => ({ "x-revenuecat-webhook-signature": "nonsense" })],
  ["a signature without a time", (body: string) => ({ "x-revenuecat-webhook-signature": signature(body).slice(13) })],
  ["a signature by another secret", (body: string) => sign(body, { secret: "another" })],
  ["a signature over another body", () => sign("{}")],
  ["a signature of six minutes ago", (body: string) => sign(body, { at: minutesFromNow(-6) })],
  ["a signature of six minutes ahead", (body: string) => sign(body, { at: minutesFromNow(6) })],
  ["no authorization", () => ({ authorization: undefined })],
  ["another authorization", () => ({ authorization: "Bearer test-webhook-authorizatioN" })],
  ["an empty authorization", () => ({ authorization: "" })],
  // ASVS 13.2.1
])("a delivery with %s is refused, and nothing is stored", async (_, headers) => {
  const event = initialPurchase(randomUUID());
  const body = JSON.stringify({ event });
  const response = await deliverRaw(body, headers(body));
  expect(response.headers.get("www-authenticate")).not.toBeNull();
  expect(await problem(response)).toEqual([401, "webhook_unauthorized"]);
  expect(await stored(event.id)).toBeNull();
});

test("what is not authentic is not even parsed", async () => {
  expect(await problem(await deliverRaw("not json", { authorization: "no" }))).toEqual([401, "webhook_unauthorized"]);
});

test("a signature of four minutes ago counts, and so does any of several", async () => {
  const body = JSON.stringify({ event: initialPurchase(randomUUID()) });
  const old = signature(body, { at: minutesFromNow(-4) });
  const several = signature(body).replace(",", `,v1=${"0".repeat(64)}, `);
  expect((await deliverRaw(body, { "x-revenuecat-webhook-signature": old })).status).toBe(200);
  expect((await deliverRaw(body, { "x-revenuecat-webhook-signature": several })).status).toBe(200);
});

test("either of two authorization values counts, and one way of authenticating is enough where one is set", async () => {
  const onlyAuthorization = {
    BILLING_WEBHOOK_AUTHORIZATION: ["old", "new"],
    BILLING_WEBHOOK_SIGNING_SECRET: undefined,
  };
  const event = initialPurchase(randomUUID());
  const send = async (headers: Record<string, string | undefined>) => (await deliver(event, headers)).status;
  const unsigned = { "x-revenuecat-webhook-signature": undefined };
  await withContext({ config: onlyAuthorization }, async () => {
    expect(await send({ ...unsigned, authorization: "old" })).toBe(200);
    expect(await send({ ...unsigned, authorization: "new" })).toBe(200);
    expect(await send({ ...unsigned, authorization: "old,new" })).toBe(401);
  });
  await withContext({ config: { BILLING_WEBHOOK_AUTHORIZATION: [] } }, async () => {
    expect(await send({ authorization: undefined })).toBe(200);
    expect(await send({ ...unsigned, authorization: undefined })).toBe(401);
  });
});

test("without any secret the webhook says that it is not configured", async () => {
  const config = { BILLING_WEBHOOK_AUTHORIZATION: [], BILLING_WEBHOOK_SIGNING_SECRET: undefined };
  await withContext({ config }, async () => {
    expect(await problem(await deliver(initialPurchase(randomUUID())))).toEqual([503, "webhook_not_configured"]);
  });
});

test.each<[string, string | Uint8Array, number, string]>([
  ["empty", "", 400, "malformed_json"],
  ["cut off", '{"event":{"id":"x"', 400, "malformed_json"],
  ["not UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400, "malformed_json"],
  ["an array", "[]", 422, "validation_failed"],
  ["without an event", "{}", 422, "validation_failed"],
  ["with an id that is a number", '{"event":{"id":1}}', 422, "validation_failed"],
  ["with an empty id", '{"event":{"id":""}}', 422, "validation_failed"],
  ["with an id of 10 KB", JSON.stringify({ event: { id: "x".repeat(10_240) } }), 422, "validation_failed"],
  ["of 257 KiB", JSON.stringify({ event: { id: "x" } }).padEnd(257 * 1024), 413, "payload_too_large"],
])("a body %s is refused", async (_, body, status, code) => {
  expect(await problem(await deliverRaw(body))).toEqual([status, code]);
});

test("a body of 256 KiB is taken", async () => {
  const event = initialPurchase(randomUUID());
  expect((await deliverRaw(JSON.stringify({ event }).padEnd(256 * 1024))).status).toBe(200);
});

function sign(body: string, options?: Parameters<typeof signature>[1]) {
  return { "x-revenuecat-webhook-signature": signature(body, options) };
}

function minutesFromNow(minutes: number): Date {
  return new Date(clock.now().getTime() + minutes * 60_000);
}
