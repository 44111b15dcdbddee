import type { Context } from "../../context";
import { newId } from "../../platform/db/ids";
import { type BillingRules, type StatusRules, statusRules } from "../entitlement-rules";
import type { EventFacts, ProviderEvent, PurchaseEvent } from "../events";
import { applySnapshot } from "../fold/apply-snapshot";
import { foldPurchase } from "../fold/fold-purchase";
import { revenueCat } from "../providers/revenuecat";
import type { Purchase, StoredPurchase } from "../purchase-state";
import { isRenewalOverdue, purchaseStatus } from "../status/purchase-status";

/** The provider's view of a purchase, as an event. Its `originalTransactionId` may be a renewal's. */
export type SnapshotEvent = ProviderEvent & { store: string; transactionId: string };

/** Whether an event has the whole state of a purchase. */
export const isSnapshot = (event: ProviderEvent): event is SnapshotEvent =>
  event.facts.snapshot !== null && event.store !== null && event.transactionId !== null;

/**
 * Gives a snapshot its place among the events of each purchase that it is about, and its end, if no renewal can follow.
 * Returns nothing for a purchase whose current period the API does not show yet. See `secondsUntilExpired`.
 */
export async function placeSnapshot(
  deps: Pick<Context, "db"> & { config: BillingRules },
  provider: string,
  seen: SnapshotEvent,
  at: Date,
): Promise<{ purchase: StoredPurchase | null; snapshot: SnapshotEvent; secondsLeft: number | null }[]> {
  const purchases = await findPurchases(deps, provider, seen);
  return purchases.flatMap((purchase) => {
    const placed = purchase ? placeInPurchase(purchase, seen) : seen;
    if (!placed) return [];
    const secondsLeft = secondsUntilExpired(deps.config, purchase ?? newPurchase(provider, placed), placed, at);
    // The other providers say that a purchase has ended.
    const hasEnded = secondsLeft === 0 && provider === revenueCat.name;
    return { purchase, snapshot: hasEnded ? withEnd(placed) : placed, secondsLeft };
  });
}

/**
 * Finds the purchases that a snapshot is about: by its transaction, else the customer's newest of the same product and
 * kind. On Google Play the transaction id contains the original's, so that no other purchase is meant. [null]: none is
 * stored.
 */
async function findPurchases({ db }: Pick<Context, "db">, provider: string, snapshot: SnapshotEvent) {
  const { store, transactionId, originalTransactionId, appUserIds, facts } = snapshot;
  const place = { provider, store, environment: snapshot.environment ?? "UNKNOWN" };
  const isOfOriginal = { originalTransactionId: originalTransactionId ?? transactionId };
  if (provider !== revenueCat.name) return [await db.purchase.findFirst({ where: { ...place, ...isOfOriginal } })];
  const byTransaction = await db.purchase.findMany({
    where: { ...place, OR: [isOfOriginal, { events: { some: { transactionId } } }] },
  });
  if (byTransaction.length > 0) return byTransaction;
  if (store === "PLAY_STORE") return [null];
  const newest = await db.purchase.findFirst({
    where: { ...place, productId: facts.productId, appUserIds: { hasSome: appUserIds }, ...kindOf(facts) },
    orderBy: { currentPeriodEndsAt: { sort: "desc", nulls: "last" } },
  });
  return [newest];
}

/** Which purchases a snapshot can be of. A one-time purchase after the end of another is a new one. */
function kindOf({ periodType, purchasedAt }: EventFacts) {
  if (periodType !== null) return { periodType: { not: null } };
  return { periodType: null, OR: [{ endedAt: null }, ...(purchasedAt ? [{ endedAt: { gt: purchasedAt } }] : [])] };
}

/**
 * Gives a snapshot its place among a purchase's events; null if the API does not show the purchase's current period yet.
 * The API's times are in whole seconds, and must not sort before the purchase itself.
 */
function placeInPurchase({ originalTransactionId, currentPeriodStartsAt: start }: StoredPurchase, seen: SnapshotEvent) {
  const { purchasedAt } = seen.facts;
  if (!start || !purchasedAt || purchasedAt >= start) return { ...seen, originalTransactionId };
  if (toSeconds(purchasedAt) < toSeconds(start)) return null;
  return { ...seen, originalTransactionId, facts: { ...seen.facts, purchasedAt: start } };
}

/**
 * Returns how long a purchase past its expiry may still turn out to be renewed, since the provider learns of a renewal
 * some time after the expiry: 0 if no renewal is due or the leeway is over, null if the purchase has not expired.
 */
function secondsUntilExpired(config: BillingRules, purchase: Purchase, seen: SnapshotEvent, at: Date) {
  const { expiresAt, resumesAt, snapshot } = seen.facts;
  if (expiresAt === null || expiresAt > at || snapshot?.billingIssueDetectedAt || resumesAt) return null;
  if (!isRenewalOverdue(correctedPurchase(purchase, seen), at)) return 0;
  const elapsedSeconds = (at.getTime() - expiresAt.getTime()) / 1000;
  return Math.max(Math.ceil(config.BILLING_STALE_LEEWAY_SECONDS - elapsedSeconds), 0);
}

function withEnd(seen: SnapshotEvent): SnapshotEvent {
  const { facts } = seen;
  const snapshot = facts.snapshot && { ...facts.snapshot, endedAt: facts.expiresAt };
  return { ...seen, facts: { ...facts, snapshot } };
}

const toPurchaseEvent = ({ facts }: SnapshotEvent): PurchaseEvent => ({ id: "", type: "SNAPSHOT", ...facts });

function correctedPurchase<Before extends Purchase>(purchase: Before, snapshot: SnapshotEvent): Before {
  return { ...purchase, ...applySnapshot(purchase, toPurchaseEvent(snapshot)) };
}

function newPurchase(provider: string, snapshot: SnapshotEvent): Purchase {
  const { store, environment } = snapshot;
  const key = { id: newId(), provider, store, environment: environment ?? "UNKNOWN" };
  return { ...key, ...foldPurchase([toPurchaseEvent(snapshot)]) };
}

/** Whether the snapshot would change nothing that the owner sees, now or later. */
export function isUpToDate(config: BillingRules, purchase: StoredPurchase, snapshot: SnapshotEvent, at: Date): boolean {
  if (!snapshot.appUserIds.every((id) => purchase.appUserIds.includes(id))) return false;
  const differences = findDifferences(config, purchase, correctedPurchase(purchase, snapshot), at);
  return differences.length === 0;
}

/** What a change of a purchase changes that the owner sees, now or later. */
export function findDifferences(
  config: BillingRules,
  before: Purchase & Pick<StoredPurchase, "accountId">,
  after: Purchase,
  at: Date,
): { field: string; before: unknown; after: unknown }[] {
  const rules = statusRules(config, before.accountId ?? "", false); // the same for both
  const [earlier, later] = [visibleState(before, at, rules), visibleState(after, at, rules)];
  return Object.entries(later).flatMap(([field, value]) => {
    const known = earlier[field as keyof typeof earlier];
    return JSON.stringify(known) === JSON.stringify(value) ? [] : { field, before: known, after: value };
  });
}

function visibleState(purchase: Purchase, at: Date, rules: StatusRules) {
  const seen = purchaseStatus(purchase, at, rules);
  const { status, willRenew, isLifetime, productId, periodType, entitlements } = seen;
  return {
    status,
    willRenew,
    isLifetime,
    productId,
    periodType,
    entitlements: entitlements.map(({ id }) => id).toSorted(),
    currentPeriodEndsAt: toWholeSeconds(seen.currentPeriodEndsAt),
    accessEndsAt: toWholeSeconds(seen.accessEndsAt),
    gracePeriodEndsAt: toWholeSeconds(seen.gracePeriodEndsAt),
    resumesAt: toWholeSeconds(seen.resumesAt),
    isRenewalOverdue: isRenewalOverdue(purchase, at), // the owner is notified of its end
  };
}

const toWholeSeconds = (time: Date | null) => time && new Date(toSeconds(time) * 1000);

const toSeconds = (time: Date) => Math.floor(time.getTime() / 1000);
