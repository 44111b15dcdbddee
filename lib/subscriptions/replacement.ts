import { isTemporaryGrant } from "./fold/periods";
import type { Purchase } from "./purchase-state";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * One owner's purchases, where each that another took the place of has ended with that one's start. RevenueCat reports a
 * product change on Google Play as a new purchase, and so a purchase that it could not validate at first: nothing names
 * the one before.
 */
export function endReplaced<T extends Purchase>(purchases: T[]): T[] {
  return purchases.map((purchase) => {
    const starts = purchases.flatMap((next) => (next.startedAt && replaces(next, purchase) ? [next.startedAt] : []));
    const endedAt = [purchase.endedAt, ...starts].reduce((a, b) => (a && b ? (a < b ? a : b) : (a ?? b)), null);
    return { ...purchase, endedAt };
  });
}

function replaces(next: Purchase, purchase: Purchase): boolean {
  if (next === purchase || next.store !== purchase.store || next.environment !== purchase.environment) return false;
  return isTemporaryGrant(purchase) ? validates(next, purchase) : changes(next, purchase);
}

/** The store's time of a purchase may be earlier than that of the grant that stood in for it. */
function validates(purchase: Purchase, grant: Purchase): boolean {
  const isShared = purchase.entitlementIds.some((id) => grant.entitlementIds.includes(id));
  const sinceMs = (purchase.startedAt?.getTime() ?? 0) - (grant.startedAt?.getTime() ?? 0);
  return isShared && !isTemporaryGrant(purchase) && sinceMs >= -DAY_MS;
}

/** Whether a subscription began in another's period and is what that one was changed to. */
function changes(next: Purchase, purchase: Purchase): boolean {
  const isLater =
    next.startedAt !== null && (purchase.currentPeriodStartsAt?.getTime() ?? 0) < next.startedAt.getTime();
  if (!isLater || next.periodType === null || purchase.periodType === null) return false;
  if (purchase.pendingProductId !== null && isProduct(next, purchase.pendingProductId)) return true;
  if (purchase.store !== "PLAY_STORE") return false;
  // Google lets nobody have two base plans of one subscription: who bought again after unsubscribing has changed.
  return (
    purchase.isReplaceable || (purchase.unsubscribedAt !== null && subscriptionOf(next) === subscriptionOf(purchase))
  );
}

/** Google's products are SUBSCRIPTION:BASE_PLAN, and a product change may name the subscription alone. */
function isProduct(purchase: Purchase, productId: string): boolean {
  return purchase.productId === productId || (!productId.includes(":") && subscriptionOf(purchase) === productId);
}

const subscriptionOf = ({ productId }: Purchase) => productId?.split(":")[0];
