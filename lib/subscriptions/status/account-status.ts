import { canEntitle, type StatusRules } from "../entitlement-rules";
import { EMPTY_STATE } from "../fold/periods";
import { STRIPE_ENTITLEMENTS, stripe } from "../providers/stripe";
import type { Purchase } from "../purchase-state";
import { endReplacedPurchases } from "../replacement";
import type { Entitlement, PurchaseStatus, SubscriptionStatus } from "../schema";
import { isConsumable, latest, purchaseStatus } from "./purchase-status";

/** The maximum number of entitlements of a response: those that are active come first. */
const MAX_ENTITLEMENTS = 100;
/** The maximum number of purchases of a response, best first. The list of purchases has all. */
const MAX_SUBSCRIPTIONS = 20;

/** The status of an account without purchases: that of one without a state. */
const noPurchase = (): PurchaseStatus => ({
  ...purchaseStatus({ ...EMPTY_STATE, id: "", provider: "", store: "", environment: "" }, new Date(0), {
    staleLeewaySeconds: 0,
    isSandboxEntitled: false,
    managementUrls: new Map(),
  }),
  purchaseId: null,
  store: null,
  environment: null,
});

/**
 * Computes an account's status at a time: that of its best purchase. Purchases with access come first, then lifetime
 * purchases, then the latest end of access. Purchases that cannot entitle, such as sandbox purchases, are only listed.
 * One-time purchases without entitlements, such as coins, are left out.
 */
export function accountStatus(purchases: Purchase[], at: Date, rules: StatusRules): SubscriptionStatus {
  const ranked = endReplacedPurchases(
    withStripeEntitlements(purchases, at, rules).filter((purchase) => !isConsumable(purchase)),
  )
    .map((purchase) => ({ purchase, status: purchaseStatus(purchase, at, rules) }))
    .toSorted((a, b) => comparePurchases(a.status, b.status));
  const counting = ranked.filter(({ purchase }) => canEntitle(purchase, rules));
  return {
    ...(counting[0]?.status ?? noPurchase()),
    entitlements: mergeEntitlements(counting.flatMap(({ purchase, status }) => entitlementsOf(purchase, status))),
    subscriptions: ranked.slice(0, MAX_SUBSCRIPTIONS).map(({ status }) => status),
    lastEventAt: latest(...purchases.map(({ lastEventAt }) => lastEventAt)),
    checkedAt: at,
  };
}

/**
 * Gives the entitlements that Stripe says the customers of an account have to those of their subscriptions that have none, unless
 * one with its own gives access: BILLING_PRODUCTS and the metadata of prices win. Without a subscription, they are a purchase of
 * their own.
 */
export function withStripeEntitlements<T extends Purchase>(purchases: T[], at: Date, rules: StatusRules): T[] {
  const isSummary = (one: Purchase) => one.provider === stripe.name && one.productId === STRIPE_ENTITLEMENTS;
  const isSubscription = (one: Purchase) => one.provider === stripe.name && one.periodType !== null;
  const isMapped = ({ entitlementIds }: Purchase) => entitlementIds.length > 0;
  const environmentsOf = (some: T[]) => new Set(some.map(({ environment }) => environment));
  const subscriptions = purchases.filter(isSubscription);
  const subscribed = environmentsOf(subscriptions);
  const mapped = environmentsOf(
    subscriptions.filter((one) => isMapped(one) && purchaseStatus(one, at, rules).isActive),
  );
  const summaries = purchases.filter(isSummary);
  return purchases
    .filter((one) => !isSummary(one) || !subscribed.has(one.environment))
    .map((one) => {
      const given = summaries.filter(({ environment }) => environment === one.environment);
      if (given.length === 0 || !isSubscription(one) || isMapped(one) || mapped.has(one.environment)) return one;
      return { ...one, entitlementIds: [...new Set(given.flatMap(({ entitlementIds }) => entitlementIds))] };
    });
}

function comparePurchases(a: PurchaseStatus, b: PurchaseStatus): number {
  return (
    Number(b.isActive) - Number(a.isActive) ||
    Number(b.isLifetime) - Number(a.isLifetime) ||
    (b.accessEndsAt?.getTime() ?? 0) - (a.accessEndsAt?.getTime() ?? 0)
  );
}

/** The entitlements of a purchase, each with what an app shows of the purchase. */
function entitlementsOf({ id, environment, store }: Purchase, status: PurchaseStatus): Entitlement[] {
  const { entitlements, ...shown } = status;
  const isSandbox = environment !== "PRODUCTION";
  return entitlements.map((entitlement) => ({ ...shown, ...entitlement, store, isSandbox, purchaseId: id }));
}

/** Merges entitlements with the same id: an active one wins, then one that does not expire, then the latest expiry. */
function mergeEntitlements(all: Entitlement[]): Entitlement[] {
  const end = ({ expiresAt }: Entitlement) => expiresAt?.getTime() ?? Number.MAX_SAFE_INTEGER;
  const best = new Map<string, Entitlement>();
  for (const one of all.toSorted((a, b) => Number(b.isActive) - Number(a.isActive) || end(b) - end(a))) {
    if (!best.has(one.id)) best.set(one.id, one);
  }
  return [...best.values()].slice(0, MAX_ENTITLEMENTS).toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
