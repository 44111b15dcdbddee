import { createHmac, randomUUID } from "node:crypto";

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

/** The webhook's header over a body: HMAC-SHA256 over "<t>.<body>". */
export function signatureHeader(body: string, secret: string): { "x-revenuecat-webhook-signature": string } {
  const seconds = Math.floor(Date.now() / 1000);
  const signature = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return { "x-revenuecat-webhook-signature": `t=${seconds},v1=${signature}` };
}
