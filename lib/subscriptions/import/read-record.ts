import type { Context } from "../../context";
import { AppError } from "../../errors";
import { buildProviderEvent, snapshotOf } from "../providers/build-event";
import { withoutRenewalNumber } from "../providers/fields";
import { toStoredId } from "../sanitize";
import type { FoundPurchase } from "../sources/source";
import type { PurchaseRecord } from "./schema";

/** The stores of providers that have one. Their events have the whole state, and no time of purchase. */
const STORES: Readonly<Record<string, string>> = { stripe: "STRIPE", paddle: "PADDLE", "app-store": "APP_STORE" };

/** Reads a purchase of a table. @throws AppError validation_failed without a store */
export function readRecord({ config, now }: Pick<Context, "config" | "now">, record: PurchaseRecord): FoundPurchase {
  const { provider = config.BILLING_PROVIDER, customer, email, environment, transactionId } = record;
  const store = record.store ?? STORES[provider];
  if (!store) throw new AppError("validation_failed", { detail: "/store is required" });
  const at = now();
  const occurredAt = record.asOf && record.asOf < at ? record.asOf : at;
  const facts = factsOf(
    record,
    occurredAt,
    record.entitlementIds ?? config.BILLING_PRODUCTS.get(record.productId) ?? [],
  );
  const toEvent: FoundPurchase["toEvent"] = (accountId) => ({
    toPayload: null,
    event: buildProviderEvent({
      type: "IMPORT",
      occurredAt,
      environment,
      store,
      purchaseId: withoutRenewalNumber(store, transactionId),
      transactionId,
      customers: [accountId ?? null, customer === undefined ? null : toStoredId(customer)],
      facts: provider in STORES ? { ...facts, purchasedAt: null } : facts,
    }),
  });
  return { provider, email: email ?? null, toEvent };
}

function factsOf(record: PurchaseRecord, occurredAt: Date, entitlementIds: string[]) {
  const { expiresAt = null, isTrial, productId, purchasedAt, refundedAt = null, startedAt, willRenew } = record;
  const isSubscription = record.isSubscription ?? expiresAt !== null;
  const isOver = isSubscription && !willRenew && expiresAt !== null && expiresAt <= occurredAt;
  return {
    productId,
    entitlementIds,
    purchasedAt,
    expiresAt,
    periodType: isSubscription ? (isTrial ? "TRIAL" : "NORMAL") : null,
    expirationReason: isOver ? "UNSUBSCRIBE" : null,
    cancelReason: refundedAt ? "CUSTOMER_SUPPORT" : willRenew ? null : "UNSUBSCRIBE",
    snapshot: snapshotOf({
      startedAt: startedAt ?? purchasedAt,
      periodStartsAt: purchasedAt,
      unsubscribedAt: isSubscription && !willRenew ? occurredAt : null,
      refundedAt,
      endedAt: isOver ? expiresAt : null,
    }),
  };
}
