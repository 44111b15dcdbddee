import { isTemporaryGrant } from "./fold/periods";
import type { Line } from "./line-state";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * One owner's lines, where each that another took the place of has ended with that one's start. RevenueCat reports a
 * product change on Google Play as a new purchase, and so a purchase that it could not validate at first: nothing names
 * the one before.
 */
export function endReplaced<T extends Line>(lines: T[]): T[] {
  return lines.map((line) => {
    const starts = lines.flatMap((next) => (next.startedAt && replaces(next, line) ? [next.startedAt] : []));
    const endedAt = [line.endedAt, ...starts].reduce((a, b) => (a && b ? (a < b ? a : b) : (a ?? b)), null);
    return { ...line, endedAt };
  });
}

function replaces(next: Line, line: Line): boolean {
  if (next === line || next.store !== line.store || next.environment !== line.environment) return false;
  return isTemporaryGrant(line) ? validates(next, line) : changes(next, line);
}

/** The store's time of a purchase may be earlier than that of the grant that stood in for it. */
function validates(purchase: Line, grant: Line): boolean {
  const isShared = purchase.entitlementIds.some((id) => grant.entitlementIds.includes(id));
  const sinceMs = (purchase.startedAt?.getTime() ?? 0) - (grant.startedAt?.getTime() ?? 0);
  return isShared && !isTemporaryGrant(purchase) && sinceMs >= -DAY_MS;
}

/** Whether a subscription began in another's period and is what that one was changed to. */
function changes(next: Line, line: Line): boolean {
  const isLater = next.startedAt !== null && (line.currentPeriodStartsAt?.getTime() ?? 0) < next.startedAt.getTime();
  if (!isLater || next.periodType === null || line.periodType === null) return false;
  if (line.pendingProductId !== null && isProduct(next, line.pendingProductId)) return true;
  if (line.store !== "PLAY_STORE") return false;
  // Google lets nobody have two base plans of one subscription: who bought again after unsubscribing has changed.
  return line.isReplaceable || (line.unsubscribedAt !== null && subscriptionOf(next) === subscriptionOf(line));
}

/** Google's products are SUBSCRIPTION:BASE_PLAN, and a product change may name the subscription alone. */
function isProduct(line: Line, productId: string): boolean {
  return line.productId === productId || (!productId.includes(":") && subscriptionOf(line) === productId);
}

const subscriptionOf = ({ productId }: Line) => productId?.split(":")[0];
