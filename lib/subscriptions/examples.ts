/** RevenueCat, "Webhooks", Event Types and Fields. */
export const REVENUECAT = {
  api_version: "1.0",
  event: {
    id: "12345678-1234-1234-1234-123456789012",
    type: "INITIAL_PURCHASE",
    app_user_id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
    original_app_user_id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
    aliases: ["0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10"],
    event_timestamp_ms: 1795165200000,
    purchased_at_ms: 1795165200000,
    expiration_at_ms: 1797757200000,
    environment: "PRODUCTION",
    store: "APP_STORE",
    product_id: "com.example.core.monthly",
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    transaction_id: "2000000123456789",
    original_transaction_id: "2000000123456789",
  },
};

/** The id of the purchase that RevenueCat's event is about. */
export const PURCHASE_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b21";

/** standardwebhooks.com, "Payload structure". */
export const STANDARD = {
  type: "subscription.initial_purchase",
  timestamp: "2026-11-20T09:00:00Z",
  data: {
    customerId: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
    environment: "PRODUCTION",
    store: "STRIPE",
    transactionId: "sub_1Q2W3E4R5T",
    purchasedAt: "2026-11-20T09:00:00Z",
    expiresAt: "2026-12-20T09:00:00Z",
    productId: "com.example.core.monthly",
    entitlementIds: ["pro"],
    periodType: "NORMAL",
  },
};
