import type { Config } from "../../platform/config";
import { signatureHeaders } from "../../platform/webhook-signatures";
import { eventTexts, type Sender } from "./sender";
import { type TestChange, TestEventType } from "./test-change";

/** The types as RevenueCat names them. */
const typeOf = (type: TestEventType) => (type === "REFUND" ? "CANCELLATION" : type);
const mapTypes = (nameOf: (type: TestEventType) => string) =>
  Object.fromEntries(TestEventType.options.map((type) => [type, nameOf(type)])) as Record<TestEventType, string>;
const standardTypeOf = (type: TestEventType) => `subscription.${typeOf(type).toLowerCase()}`;

const purchaseIdOf = (key: string) => `test_${key}`;

/** RevenueCat's store for tests, "Test Store". */
const STORE = "TEST_STORE";

/** What both providers say of a change. */
function factsOf({ type, key, id, product, previousProduct, wasPastDue, gracePeriodEndsAt }: TestChange) {
  const isChange = type === "PRODUCT_CHANGE";
  const cancelReasons: Partial<Record<TestEventType, string>> = {
    CANCELLATION: "UNSUBSCRIBE",
    REFUND: "CUSTOMER_SUPPORT",
  };
  return {
    product: isChange ? previousProduct : product,
    newProductId: isChange ? product.id : null,
    transactionId: type === "RENEWAL" ? `test_${id}` : purchaseIdOf(key),
    gracePeriodEndsAt: type === "BILLING_ISSUE" ? gracePeriodEndsAt : null,
    cancelReason: cancelReasons[type] ?? null,
    expirationReason: type === "EXPIRATION" ? (wasPastDue ? "BILLING_ERROR" : "UNSUBSCRIBE") : null,
    isRefund: type === "REFUND",
  };
}

const shared = {
  store: STORE,
  precisionMs: 1,
  purchaseIdOf,
  isProductId: () => true, // the product ids of every store
  defaultProductIds: ["homeport.test.monthly", "homeport.test.yearly"],
} as const;

const isConfigured = ({ BILLING_PROVIDER, ...config }: Config, name: string) =>
  BILLING_PROVIDER === name &&
  (config.BILLING_WEBHOOK_AUTHORIZATION.length > 0 || config.BILLING_WEBHOOK_SIGNING_SECRET !== undefined);

/** The headers that `requireAuthentic` demands: the Authorization header, the signature, or both. */
function headersOf(scheme: "revenuecat" | "standardWebhooks"): Sender["headersOf"] {
  return ({ BILLING_WEBHOOK_AUTHORIZATION: [authorization], BILLING_WEBHOOK_SIGNING_SECRET: secret }, signed) => ({
    ...(scheme === "standardWebhooks" ? { "webhook-id": signed.id } : {}),
    ...(authorization === undefined ? {} : { authorization }),
    ...(secret === undefined ? {} : signatureHeaders(scheme, secret, signed)),
  });
}

/** RevenueCat, "Webhooks", Event Types and Fields. */
export const revenueCat: Sender = {
  ...shared,
  settings: "BILLING_WEBHOOK_SIGNING_SECRET or BILLING_WEBHOOK_AUTHORIZATION",
  isConfigured: (config) => isConfigured(config, "revenuecat"),
  events: eventTexts(mapTypes(typeOf), "changes"),
  headersOf: headersOf("revenuecat"),
  bodyOf: (change) => {
    const { product, newProductId, isRefund, ...facts } = factsOf(change);
    const event = {
      id: change.id,
      type: typeOf(change.type),
      app_id: "test",
      event_timestamp_ms: change.occurredAt.getTime(),
      app_user_id: change.accountId,
      original_app_user_id: change.accountId,
      aliases: [change.accountId],
      product_id: product.id,
      ...(newProductId === null ? {} : { new_product_id: newProductId }),
      entitlement_id: null,
      entitlement_ids: product.entitlementIds,
      period_type: "NORMAL",
      purchased_at_ms: change.paidPeriod.startsAt.getTime(),
      expiration_at_ms: change.paidPeriod.endsAt.getTime(),
      grace_period_expiration_at_ms: facts.gracePeriodEndsAt?.getTime() ?? null,
      environment: "SANDBOX",
      store: STORE,
      transaction_id: facts.transactionId,
      original_transaction_id: purchaseIdOf(change.key),
      is_family_share: false,
      cancel_reason: facts.cancelReason,
      expiration_reason: facts.expirationReason,
      price: isRefund ? -9.99 : 9.99,
      currency: "USD",
    };
    return { api_version: "1.0", event };
  },
};

/** Standard Webhooks with the fields of docs/guides/billing.md. */
export const standardWebhooks: Sender = {
  ...shared,
  settings: "BILLING_PROVIDER=standard-webhooks and BILLING_WEBHOOK_SIGNING_SECRET",
  isConfigured: (config) => isConfigured(config, "standard-webhooks"),
  events: eventTexts(mapTypes(standardTypeOf), "changes"),
  headersOf: headersOf("standardWebhooks"),
  bodyOf: (change) => {
    const { product, ...facts } = factsOf(change);
    const data = {
      customerId: change.accountId,
      environment: "SANDBOX",
      store: STORE,
      originalTransactionId: purchaseIdOf(change.key),
      productId: product.id,
      entitlementIds: product.entitlementIds,
      periodType: "NORMAL",
      purchasedAt: change.paidPeriod.startsAt,
      expiresAt: change.paidPeriod.endsAt,
      ...facts,
    };
    return { type: standardTypeOf(change.type), timestamp: change.occurredAt, data };
  },
};
