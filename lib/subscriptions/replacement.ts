import { isTemporaryGrant } from "./fold/periods";
import type { Purchase } from "./purchase-state";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Ends each of an account's purchases that another one replaced, at the start of the other. RevenueCat reports a product
 * change on Google Play as a new purchase, and a temporary grant's validated purchase too; neither names the previous one.
 */
export function endReplacedPurchases<T extends Purchase>(purchases: T[]): T[] {
  return purchases.map((purchase) => {
    const starts = purchases.filter((next) => isReplacementOf(next, purchase)).map(({ startedAt }) => startedAt);
    const endedAt = [purchase.endedAt, ...starts].reduce((a, b) => (a && b ? (a < b ? a : b) : (a ?? b)), null);
    return { ...purchase, endedAt };
  });
}

function isReplacementOf(next: Purchase, purchase: Purchase): boolean {
  if (next === purchase || next.store !== purchase.store || next.environment !== purchase.environment) return false;
  return isTemporaryGrant(purchase) ? isValidationOf(next, purchase) : isChangeOf(next, purchase);
}

/** Whether a purchase is the one that a temporary grant preceded. The store's time of it may be earlier than the grant's. */
function isValidationOf(purchase: Purchase, grant: Purchase): boolean {
  const isShared = purchase.entitlementIds.some((id) => grant.entitlementIds.includes(id));
  const sinceMs = (purchase.startedAt?.getTime() ?? 0) - (grant.startedAt?.getTime() ?? 0);
  return isShared && !isTemporaryGrant(purchase) && sinceMs >= -DAY_MS;
}

/** Whether a subscription started in the period of another, and is the product that the other was changed to. */
function isChangeOf(next: Purchase, purchase: Purchase): boolean {
  const isLater =
    next.startedAt !== null && (purchase.currentPeriodStartsAt?.getTime() ?? 0) < next.startedAt.getTime();
  if (!isLater || next.periodType === null || purchase.periodType === null) return false;
  if (purchase.pendingProductId !== null && isProduct(next, purchase.pendingProductId)) return true;
  if (purchase.store !== "PLAY_STORE") return false;
  // On Google Play nobody has two base plans of a subscription: a purchase after a cancellation is a change.
  return (
    purchase.isReplaceable || (purchase.unsubscribedAt !== null && subscriptionOf(next) === subscriptionOf(purchase))
  );
}

/** Google's product ids are SUBSCRIPTION:BASE_PLAN. A product change may name the subscription only. */
function isProduct(purchase: Purchase, productId: string): boolean {
  return purchase.productId === productId || (!productId.includes(":") && subscriptionOf(purchase) === productId);
}

const subscriptionOf = ({ productId }: Purchase) => productId?.split(":")[0];
