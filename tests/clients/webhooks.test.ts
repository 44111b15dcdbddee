import { describe, expect, expectTypeOf, test } from "vitest";
import { verifyWebhook, type WebhookEvent } from "@/clients/js/src/index";
import { rotateSecret } from "@/lib/webhooks/endpoints";
import type { NewWebhookEvent } from "@/lib/webhooks/events";
import { newWebhookSecret, signWebhook } from "@/lib/webhooks/signature";
import { newAccount } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import { attempted, newReceiver, OPERATOR } from "@/tests/support/webhooks";

const MINUTE_MS = 60_000;
const secret = newWebhookSecret();
const event = { type: "account.created", timestamp: "2026-11-22T09:00:00.000Z", data: { accountId: "ä" } };

function delivery(change: { at?: Date; body?: string } = {}, secrets = [secret]) {
  const body = JSON.stringify(event);
  return { headers: signWebhook({ id: "evt", at: new Date(), body, ...change }, secrets), body };
}

describe("verifyWebhook", () => {
  test("accepts what the service sends, also during a rotation", async () => {
    const receiver = await newReceiver();
    const { secret: rotated } = await rotateSecret(ctx(), OPERATOR, receiver.id);
    const { id: accountId } = await newAccount();
    await attempted(receiver.id, 1);
    const [received] = receiver.received;
    if (!received) throw new Error("Nothing was received");
    for (const one of [receiver.secret, rotated, ["whsec_AAAA", rotated]]) {
      const { type, data, id } = await verifyWebhook(received, one);
      expect({ type, data, id }).toEqual({
        type: "account.created",
        data: { accountId },
        id: received.headers["webhook-id"],
      });
    }
    await expect(verifyWebhook(received, newWebhookSecret())).rejects.toThrow("No secret matches the signature");
  });

  test("takes the body as text or bytes, and the headers of fetch or of Node.js", async () => {
    const { headers, body } = delivery();
    const bytes = new TextEncoder().encode(body);
    expect(await verifyWebhook({ headers: new Headers(headers), body: bytes }, secret)).toEqual({
      id: "evt",
      ...event,
    });
  });

  test("refuses a changed body, id or time, and what is not signed", async () => {
    const { headers, body } = delivery();
    const refused = [
      { headers, body: body.replace("ä", "a") },
      { headers: { ...headers, "webhook-id": "another" }, body },
      { headers: { ...headers, "webhook-signature": "v1,AAAA v2,AAAA v1,%%%" }, body },
      { headers: { ...headers, "webhook-signature": undefined }, body },
      { headers: { ...headers, "webhook-timestamp": "NaN" }, body },
    ];
    for (const one of refused) await expect(verifyWebhook(one, secret)).rejects.toMatchObject({ name: "WebhookError" });
  });

  test("refuses what is older than five minutes, or from later", async () => {
    const at = new Date("2026-11-22T09:00:00Z");
    const signed = delivery({ at });
    const verifyAfter = (minutes: number) => verifyWebhook(signed, secret, { now: at.getTime() + minutes * MINUTE_MS });
    await expect(verifyAfter(5)).resolves.toMatchObject({ id: "evt" });
    for (const minutes of [6, -6])
      await expect(verifyAfter(minutes)).rejects.toThrow("The timestamp is more than five minutes off");
  });

  test("reports a secret that is not valid", async () => {
    for (const one of ["", "whsec_", "whsec_%%"]) {
      await expect(verifyWebhook(delivery(), one)).rejects.toThrow("A webhook secret is whsec_ followed by base64");
    }
  });

  test("has the types of the service's events", () => {
    type Sent = { [E in NewWebhookEvent as E["type"]]: E["data"] };
    type Received = { [E in Exclude<WebhookEvent, { type: "webhook.test" }> as E["type"]]: E["data"] };
    expectTypeOf<Received>().toEqualTypeOf<Sent>();
  });
});
