import { randomUUID } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test, vi } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { clock, withContext } from "@/tests/support/context";
import { DAY_MS, statusOf, storedEvent } from "@/tests/support/subscriptions/billing";

const SECRET = `whsec_${Buffer.from("a key of the standard webhooks, 32+ bytes").toString("base64")}`;
const config = {
  BILLING_PROVIDER: "standard-webhooks" as const,
  BILLING_WEBHOOK_SIGNING_SECRET: SECRET,
  BILLING_WEBHOOK_AUTHORIZATION: [],
};

type Message = { type: string; timestamp: string; data: Record<string, unknown> };
type Chosen = { id?: string; at?: Date; secret?: string; headers?: Record<string, string | undefined>; body?: string };

/** Sends a message, signed by the specification's own library. */
async function send(
  message: unknown,
  { id = `msg_${randomUUID()}`, at = clock.now(), secret = SECRET, ...chosen }: Chosen = {},
) {
  const body = chosen.body ?? JSON.stringify(message);
  const all = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, at, body),
    ...chosen.headers,
  };
  const headers = Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const response = await withContext({ config }, () =>
    call("POST", "/api/subscription/billing-provider-webhook", { body, headers }),
  );
  return [response.status, (await response.json()) as { status?: string; eventId?: string; code?: string }] as const;
}

function message(type: string, data: Record<string, unknown>): Message {
  const now = clock.now().getTime();
  const period = { purchasedAt: new Date(now).toISOString(), expiresAt: new Date(now + 31 * DAY_MS).toISOString() };
  const place = {
    environment: "PRODUCTION",
    store: "STRIPE",
    productId: "pro",
    entitlementIds: ["pro"],
    periodType: "NORMAL",
  };
  return { type, timestamp: new Date(now).toISOString(), data: { ...place, ...period, ...data } };
}

test("a message signed by the specification's library is accepted and applied", async () => {
  const ann = await newAccount();
  const purchase = { customerId: ann.id, originalTransactionId: randomUUID() };
  const id = `msg_${randomUUID()}`;
  const bought = message("subscription.initial_purchase", { ...purchase, periodType: "TRIAL" });
  expect(await send(bought, { id })).toEqual([200, { status: "processed", eventId: id }]);
  expect(await send(bought, { id })).toEqual([200, { status: "duplicate", eventId: id }]);
  expect(await statusOf(ann)).toMatchObject({ status: "trialing", store: "STRIPE", isActive: true });
  clock.advance(1000);
  await send(
    message("subscription.cancellation", { ...purchase, isRefund: true, expiresAt: clock.now().toISOString() }),
  );
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
  expect(await storedEvent(id)).toMatchObject({ provider: "standard-webhooks", payload: bought, state: "processed" });
});

test("a transfer moves a purchase there too", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  await send(message("subscription.initial_purchase", { customerId: ann.id, originalTransactionId: randomUUID() }));
  clock.advance(1000);
  await send(message("customer.transfer", { customerId: bob.id, transferredFrom: [ann.id] }));
  expect(await statusOf(ann)).toMatchObject({ status: "none" });
  expect(await statusOf(bob)).toMatchObject({ status: "active" });
});

const purchase = () => message("subscription.initial_purchase", { originalTransactionId: randomUUID() });

test.each<[string, () => Chosen]>([
  ["no signature", () => ({ headers: { "webhook-signature": undefined } })],
  ["no id", () => ({ headers: { "webhook-id": undefined } })],
  ["no time", () => ({ headers: { "webhook-timestamp": undefined } })],
  ["a time that is none", () => ({ headers: { "webhook-timestamp": "today" } })],
  ["a signature of six minutes ago", () => ({ at: new Date(clock.now().getTime() - 360_000) })],
  ["a signature of six minutes ahead", () => ({ at: new Date(clock.now().getTime() + 360_000) })],
  ["another secret", () => ({ secret: `whsec_${Buffer.from("another key of 24 bytes.").toString("base64")}` })],
  ["another id than the signed one", () => ({ headers: { "webhook-id": "msg_2" } })],
])("a message with %s is refused", async (_, chosen) => {
  expect(await send(purchase(), chosen())).toEqual([401, expect.objectContaining({ code: "webhook_unauthorized" })]);
});

test("any of several signatures counts, as while a secret is rotated", async () => {
  const [id, at, body] = [`msg_${randomUUID()}`, clock.now(), JSON.stringify(purchase())];
  const other = new Webhook(Buffer.from("the secret from before the rotation").toString("base64")).sign(id, at, body);
  const signatures = `${other} ${new Webhook(SECRET).sign(id, at, body)} v1a,${"A".repeat(88)}`;
  const [status] = await send(null, { id, at, body, headers: { "webhook-signature": signatures } });
  expect(status).toBe(200);
});

test.each([
  ["an array", "[]"],
  ["a number", "17"],
  ["no data", '{"type":"a.b","timestamp":"2026-11-20T10:00:00Z"}'],
])("a message that is %s is refused", async (_, body) => {
  expect(await send(null, { body })).toEqual([422, expect.objectContaining({ code: "validation_failed" })]);
});

test("fields of any other kind count as missing, and types nobody knows are ignored", async () => {
  const odd = { customerId: 7, store: ["x"], isRefund: "yes", originalTransactionId: "t-odd" };
  expect(await send({ type: 5, timestamp: "x", data: odd })).toMatchObject([200, { status: "ignored" }]);
  expect(await send(message("subscription.renewal", odd))).toMatchObject([200, { status: "processed" }]);
  expect(await send(message("invoice.paid", { expiresAt: 5 }))).toMatchObject([200, { status: "ignored" }]);
});

test.each([5, "never", "", {}])("%j in place of a time is refused with the field's name", async (expiresAt) => {
  const [status, answer] = await send(message("subscription.renewal", { originalTransactionId: "t-odd", expiresAt }));
  expect([status, answer]).toMatchObject([422, { errors: [{ pointer: "/data/expiresAt" }] }]);
});

test("a time without an offset is in UTC, wherever the server is", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("TZ", "America/New_York");
  const ann = await newAccount();
  const expiresAt = new Date(clock.now().getTime() + DAY_MS).toISOString();
  const purchase = { customerId: ann.id, originalTransactionId: randomUUID() };
  await send(message("subscription.initial_purchase", { ...purchase, expiresAt: expiresAt.replace("Z", "") }));
  expect(await statusOf(ann)).toMatchObject({ currentPeriodEndsAt: expiresAt });
});
