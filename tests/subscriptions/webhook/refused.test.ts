import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { clock, ctx, withContext } from "@/tests/support/context";
import { deliver, deliverRaw, initialPurchase, signature } from "@/tests/support/subscriptions/billing";

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
  ["a number", "17", 422, "validation_failed"],
  ["null", "null", 422, "validation_failed"],
  ["without an event", "{}", 422, "validation_failed"],
  ["with an event that is an array", '{"event":[]}', 422, "validation_failed"],
  ["with an event without an id", '{"event":{"type":"TEST"}}', 422, "validation_failed"],
  ["with an id that is a number", '{"event":{"id":1}}', 422, "validation_failed"],
  ["with an empty id", '{"event":{"id":""}}', 422, "validation_failed"],
  ["with an id of 10 KB", JSON.stringify({ event: { id: "x".repeat(10_240) } }), 422, "validation_failed"],
  ["of 257 KiB", JSON.stringify({ event: { id: "x" } }).padEnd(257 * 1024), 413, "payload_too_large"],
])("a body %s is refused", async (_, body, status, code) => {
  expect(await problem(await deliverRaw(body))).toEqual([status, code]);
});

test("a refused body says which field is wrong", async () => {
  const response = await deliverRaw('{"event":{"id":1}}');
  expect(await response.json()).toMatchObject({ errors: [{ pointer: "/event/id", code: "invalid_type" }] });
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
