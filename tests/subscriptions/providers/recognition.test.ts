import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { clock, WEBHOOK_AUTHORIZATION } from "@/tests/support/context";
import { billingEvent, signature, storedEvent } from "@/tests/support/subscriptions/billing";
import { deliverWith } from "@/tests/support/subscriptions/deliver-with";
import { appleBody, paddleHeader, stripeHeader } from "@/tests/support/subscriptions/providers";

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

/** What a stranger may send as a signature of `at`, in the form of a scheme: nothing of it is one. */
const malformed = (at: string, v: string, separator: string, t: string) => [
  "",
  separator,
  t,
  `${t}=${separator}${v}=`,
  `${t}=${at}`,
  `${t}=${at}${separator}${v}`,
  `${t}=${at}${separator}${v}=${separator}${v}=`,
  `${t}=${at}${separator}${v}=zz`,
  `${t}=${at}${separator}${v}=${"0".repeat(64)}`,
  `${t}=${at}${separator}${v}=${"é".repeat(32)}`,
  `${t}=NaN${separator}${v}=${"0".repeat(64)}`,
  `${t}=1e99${separator}${v}=${"0".repeat(64)}`,
  `${t}=-${at}${separator}${v}=${"0".repeat(64)}`,
  `${t}=${"9".repeat(400)}${separator}${v}=${"0".repeat(64)}`,
  `${v}=${"0".repeat(64)}`.repeat(150),
];

test("a malformed signature of any scheme is refused as a wrong one", async () => {
  const at = String(Math.floor(clock.now().getTime() / 1000));
  const standard = (id: string, timestamp: string, signature: string) => ({
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signature,
  });
  const headers: Record<string, string>[] = [
    ...malformed(at, "v1", ",", "t").map((value) => ({ "stripe-signature": value })),
    ...malformed(at, "h1", ";", "ts").map((value) => ({ "paddle-signature": value })),
    ...malformed(at, "v1", ",", "t").map((value) => ({
      authorization: WEBHOOK_AUTHORIZATION,
      "x-revenuecat-webhook-signature": value,
    })),
  ];
  for (const one of headers) {
    const [status, { code }] = await deliverWith("{}", one);
    expect([one, status, code]).toEqual([one, 401, "webhook_unauthorized"]);
  }
  const config = { BILLING_PROVIDER: "standard-webhooks" as const, BILLING_WEBHOOK_AUTHORIZATION: [] };
  for (const signature of ["", "v1", "v1,", "v1,é", "v1a,AAAA", ` v1,${"A".repeat(43)}= `, "v1, ".repeat(200)]) {
    const sent = standard("msg_1", at, signature);
    expect([sent, (await deliverWith("{}", sent, "", config))[0]]).toEqual([sent, 401]);
  }
  for (const sent of [
    standard("", at, "v1,AAAA"),
    standard("msg_1", "", "v1,AAAA"),
    { "webhook-signature": "v1,AAAA" },
  ])
    expect([sent, (await deliverWith("{}", sent, "", config))[0]]).toEqual([sent, 401]);
  for (const signedPayload of ["", ".", "..", "a.b.c", "e30.e30.", `${"e30.".repeat(9)}`, "é.é.é", "bnVsbA.bnVsbA.AA"])
    expect([signedPayload, (await deliverWith(JSON.stringify({ signedPayload }), {}))[0]]).toEqual([
      signedPayload,
      401,
    ]);
});

test("a body that is not JSON is refused after its signature", async () => {
  for (const headers of [stripeHeader("{"), paddleHeader("{")]) {
    expect(await deliverWith("{", headers)).toMatchObject([400, { code: "malformed_json" }]);
  }
  expect((await deliverWith("{", {}))[0]).toBe(401);
});
