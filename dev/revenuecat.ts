import { randomUUID } from "node:crypto";
import { signatureHeaders } from "../lib/platform/webhook-signatures";

/** A monthly purchase as RevenueCat's webhook describes it, each with an id and a transaction of its own. */
export function initialPurchase(appUserId: string) {
  const [now, transaction] = [Date.now(), randomUUID() as string];
  return {
    id: randomUUID() as string,
    type: "INITIAL_PURCHASE",
    app_user_id: appUserId,
    original_app_user_id: appUserId,
    aliases: [appUserId],
    event_timestamp_ms: now,
    purchased_at_ms: now - 60_000,
    expiration_at_ms: now + 30 * 24 * 60 * 60 * 1000,
    environment: "PRODUCTION",
    store: "APP_STORE",
    product_id: "com.example.core.monthly",
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    transaction_id: transaction,
    original_transaction_id: transaction,
    price: 4.99,
    currency: "USD",
  };
}

/** RevenueCat's signature header over a body. */
export function signatureHeader(body: string, secret: string): Record<string, string> {
  return signatureHeaders("revenuecat", secret, { id: "", raw: new TextEncoder().encode(body), now: new Date() });
}
