import { createHmac, randomUUID } from "node:crypto";
import { call, get } from "@/tests/support/api";
import { clock, ctx, WEBHOOK_AUTHORIZATION, WEBHOOK_SECRET } from "@/tests/support/context";
import type { Service } from "@/tests/support/process/service";

export const WEBHOOK = "/api/subscription/billing-provider-webhook";
export const DAY_MS = 24 * 60 * 60 * 1000;

export type Sent = Record<string, unknown> & { id: string };

/** When the first event of each transaction was made. */
const firstMade = new Map<string, number>();
/** Events of a transaction that are made so soon after each other are of one period. */
const SAME_PERIOD_MS = 30_000;

/** The time that the periods of a transaction's events are counted from: the same for events made one after the other. */
function periodBase(transaction: string, now: number): number {
  const known = firstMade.get(transaction);
  if (known !== undefined && Math.abs(now - known) < SAME_PERIOD_MS) return known;
  firstMade.set(transaction, now);
  return now;
}

/**
 * A RevenueCat event as its documentation shows one: bought a minute ago, for thirty days, in production. Events of one
 * transaction name the same purchase, unless the clock was moved between them.
 */
export function billingEvent(type: string, fields: Record<string, unknown> = {}): Sent {
  const now = clock.now().getTime();
  const transaction = String(fields.original_transaction_id ?? randomUUID());
  const base = periodBase(transaction, now);
  return {
    id: randomUUID(),
    type,
    app_id: "1234567890",
    event_timestamp_ms: now,
    app_user_id: randomUUID(),
    original_app_user_id: anonymous(),
    aliases: [anonymous()],
    product_id: "com.example.pro.monthly",
    entitlement_id: null,
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    purchased_at_ms: base - 60_000,
    expiration_at_ms: base + 30 * DAY_MS,
    environment: "PRODUCTION",
    store: "APP_STORE",
    transaction_id: transaction,
    original_transaction_id: transaction,
    is_family_share: false,
    price: 4.99,
    currency: "USD",
    subscriber_attributes: { $email: { updated_at_ms: now, value: "somebody@example.com" } },
    ...fields,
  };
}

/** A name as RevenueCat gives it to somebody who has not signed in. */
export const anonymous = () => `$RCAnonymousID:${randomUUID().replaceAll("-", "")}`;

/** RevenueCat's signature header over a body. */
export function signature(body: string | Uint8Array, { at = clock.now(), secret = WEBHOOK_SECRET } = {}): string {
  const seconds = Math.floor(at.getTime() / 1000);
  return `t=${seconds},v1=${createHmac("sha256", secret).update(`${seconds}.`).update(body).digest("hex")}`;
}

/** What a CANCELLATION says of a refund that ends access: an expiry in the past. */
export const revokingRefund = () => ({
  cancel_reason: "CUSTOMER_SUPPORT",
  expiration_at_ms: clock.now().getTime() - 30_000,
});

/** A purchase by a customer of that name. */
export const initialPurchase = (appUserId: string) => billingEvent("INITIAL_PURCHASE", { app_user_id: appUserId });

type ChosenHeaders = Record<string, string | undefined>;

/** Sends a body to the webhook, authentic unless `chosen` says otherwise; undefined leaves a header out. */
export function deliverRaw(body: string | Uint8Array, chosen: ChosenHeaders = {}): Promise<Response> {
  const all = {
    "content-type": "application/json",
    authorization: WEBHOOK_AUTHORIZATION,
    "x-revenuecat-webhook-signature": signature(body),
    ...chosen,
  };
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return call("POST", WEBHOOK, { body: body as BodyInit, headers: Object.fromEntries(given) });
}

/** The request by which RevenueCat delivers an event. */
export function deliveryOf(event: Sent) {
  const body = JSON.stringify({ api_version: "1.0", event });
  const headers = { "content-type": "application/json", "x-revenuecat-webhook-signature": signature(body) };
  return { method: "POST", body, headers };
}

/** Delivers an event to a service in a process of its own. */
export const deliverTo = (service: Pick<Service, "fetch">, event: Sent): Promise<Response> =>
  service.fetch(WEBHOOK, deliveryOf(event));

/** Delivers an event as RevenueCat does. */
export function deliver(event: Sent, chosen?: ChosenHeaders): Promise<Response> {
  return deliverRaw(JSON.stringify({ api_version: "1.0", event }), chosen);
}

/** Delivers an event and returns the receipt's status. */
export async function deliverOk(event: Sent): Promise<string> {
  const response = await deliver(event);
  if (response.status !== 200) throw new Error(`the webhook answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { status: string }).status;
}

export type Answer = Record<string, unknown> & { subscriptions: Record<string, unknown>[] };

/** An account's subscription status, as its app asks for it. */
export async function statusOf({ token }: { token: string }): Promise<Answer> {
  const response = await get("/api/subscription/status", { token });
  if (response.status !== 200) throw new Error(`status answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** An event as the inbox keeps it, with its line. */
export const storedEvent = (eventId: string) =>
  ctx().db.billingEvent.findFirst({ where: { eventId }, include: { purchase: true } });
