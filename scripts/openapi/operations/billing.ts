import { foldPurchase } from "../../../lib/subscriptions/fold/fold-purchase";
import { revenueCat } from "../../../lib/subscriptions/providers/revenuecat";
import type { Purchase } from "../../../lib/subscriptions/purchase-state";
import { accountStatus } from "../../../lib/subscriptions/status";
import { type Details, examplesOf } from "../operation";

/** RevenueCat, "Webhooks", Event Types and Fields. */
const REVENUECAT = {
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

/** standardwebhooks.com, "Payload structure". */
const STANDARD = {
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

/** What the service answers on the day after these events of one purchase. */
function statusAfter(...deliveries: { event: { event_timestamp_ms: number } }[]): unknown {
  const at = new Date("2026-11-21T08:00:00Z");
  const rules = { staleLeewaySeconds: 3600, isSandboxEntitled: false };
  const lines = deliveries.map((delivery): Purchase => {
    const { store, environment, facts } = revenueCat.read(delivery, at);
    const state = foldPurchase([{ id: "1", type: "INITIAL_PURCHASE", ...facts }]);
    return { ...state, store: store ?? "UNKNOWN", environment: environment ?? "UNKNOWN" };
  });
  return JSON.parse(JSON.stringify(accountStatus(lines, at, rules)));
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Whatever the method: the route is gone. */
function retired(path: string, name: string, successor: string): Record<string, Details> {
  const described = METHODS.map((method): [string, Details] => [
    `${method} ${path}`,
    {
      operationId: `${method.toLowerCase()}${name}`,
      description: `Use \`${successor}\`.`,
      deprecated: true,
      responses: {},
    },
  ]);
  return Object.fromEntries(described);
}

export const BILLING: Record<string, Details> = {
  "GET /api/subscription/status": {
    operationId: "getSubscriptionStatus",
    description:
      "Gate access on `isActive` where there is one tier, and on `entitlements[].isActive` where there are several; the rest is for telling people how things stand. The members at the top are those of the best subscription; `entitlements` is the union over all.",
    responses: {
      200: {
        description: "As of `checkedAt`.",
        examples: {
          "A monthly subscription": statusAfter(REVENUECAT),
          "No subscription": statusAfter(),
        },
      },
    },
  },
  "POST /api/subscription/billing-provider-webhook": {
    operationId: "receiveBillingEvent",
    description:
      "For the billing provider: RevenueCat, or any sender that follows Standard Webhooks. A delivery is authenticated by its signature, by its Authorization header, or by both, as configured. Deliveries may be repeated, late and out of order. The provider must retry a delivery unless the response is 200.",
    security: [
      { revenueCatSignature: [] },
      { webhookAuthorization: [] },
      { revenueCatSignature: [], webhookAuthorization: [] },
      { standardWebhooksSignature: [] },
      { standardWebhooksSignature: [], webhookAuthorization: [] },
    ],
    reads: ["WebhookId", "WebhookTimestamp"],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            anyOf: [
              { $ref: "#/components/schemas/RevenueCatDelivery" },
              { $ref: "#/components/schemas/StandardWebhook" },
            ],
          },
          examples: examplesOf({ RevenueCat: REVENUECAT, "Standard Webhooks": STANDARD }),
        },
      },
    },
    responses: {
      200: {
        description: "Durable, or known to be of no use.",
        examples: {
          Applied: { status: "processed", eventId: REVENUECAT.event.id },
          "Known already": { status: "duplicate", eventId: REVENUECAT.event.id },
          "Of no use here": { status: "ignored", eventId: REVENUECAT.event.id },
        },
      },
    },
  },
  ...retired("/api/subscription/checkout", "Checkout", "/api/subscription/status"),
  ...retired("/api/subscription/webhook", "SubscriptionWebhook", "/api/subscription/billing-provider-webhook"),
};
