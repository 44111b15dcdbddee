import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { billingEvent, signature, storedEvent } from "@/tests/support/billing/billing";
import { appleBody, deliverWith, paddleHeader, stripeHeader } from "@/tests/support/billing/providers";
import { WEBHOOK_AUTHORIZATION } from "@/tests/support/context";

const stripeBody = () => JSON.stringify({ id: `evt_${randomUUID()}`, type: "invoice.paid", livemode: true });
const paddleBody = () => JSON.stringify({ event_id: `evt_${randomUUID()}`, event_type: "address.created" });
const revenueCatBody = () => JSON.stringify({ api_version: "1.0", event: billingEvent("TEST") });
const revenueCatHeaders = (body: string) => ({
  authorization: WEBHOOK_AUTHORIZATION,
  "x-revenuecat-webhook-signature": signature(body),
});

test.each<[string, string, (body: string) => Record<string, string>]>([
  ["stripe", stripeBody(), stripeHeader],
  ["paddle", paddleBody(), paddleHeader],
  ["app-store", appleBody({ type: "TEST" }), () => ({})],
  ["revenuecat", revenueCatBody(), revenueCatHeaders],
])("%s is recognized by its signature, and by its name, on the same path", async (provider, body, headersOf) => {
  const [status, { eventId }] = await deliverWith(body, headersOf(body));
  expect(status).toBe(200);
  expect(await storedEvent(String(eventId))).toMatchObject({ provider, state: "ignored" });
  expect(await deliverWith(body, headersOf(body), `?provider=${provider}`)).toMatchObject([200, { eventId }]);
  const other = provider === "stripe" ? "paddle" : "stripe";
  expect(await deliverWith(body, headersOf(body), `?provider=${other}`)).toMatchObject([401, {}]);
});

test("a name that is no provider's is refused, and so is a provider that is not configured", async () => {
  const body = stripeBody();
  expect(await deliverWith(body, stripeHeader(body), "?provider=paypal")).toMatchObject([
    400,
    { code: "invalid_query" },
  ]);
  const off = { BILLING_STRIPE_WEBHOOK_SECRET: [] };
  expect(await deliverWith(body, stripeHeader(body), "", off)).toMatchObject([503, { code: "webhook_not_configured" }]);
  expect(await deliverWith(body, {}, "?provider=standard-webhooks")).toMatchObject([503, {}]);
});

test("a body that is not JSON is refused after its signature", async () => {
  for (const headers of [stripeHeader("{"), paddleHeader("{")]) {
    expect(await deliverWith("{", headers)).toMatchObject([400, { code: "malformed_json" }]);
  }
  expect((await deliverWith("{", {}))[0]).toBe(401);
});
