import type { Context } from "../context";
import { newId } from "../platform/db/ids";
import type { WebhookRecorder } from "../webhooks/outbox";
import { possibleAccountIds } from "./app-user-ids";
import { type BillingRules, type StatusRules, statusRules } from "./entitlement-rules";
import type { EventFacts, PurchaseEvent } from "./events";
import { applySnapshot } from "./fold/apply-snapshot";
import { foldPurchase } from "./fold/fold-purchase";
import { applyEvent } from "./inbox/inbox";
import { storeEvent } from "./inbox/store";
import { revenueCat } from "./providers/revenuecat";
import { readCustomer, type SnapshotEvent } from "./providers/revenuecat-customer";
import type { Purchase, StoredPurchase } from "./purchase-state";
import { isRenewalOverdue, purchaseStatus } from "./status/purchase-status";

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now"> & {
  webhooks: WebhookRecorder;
  config: BillingRules;
  billing: NonNullable<Context["billing"]>;
};

/**
 * The number of purchases in the provider's response, and of those corrected. `retryAfterSeconds` is set if a purchase
 * is past its expiry and may still be renewed: the customer should be reconciled again then.
 */
export type Reconciled = { known: number; corrected: number; retryAfterSeconds?: number };

const MAX_RETRY_AFTER_SECONDS = 15 * 60;

/**
 * Compares a customer's purchases with the provider's API, and corrects those that differ. A correction is an event of
 * type SNAPSHOT, which is stored and folded as deliveries are.
 * @throws Error if the API does not respond as documented
 */
export async function reconcileCustomer(deps: Deps, appUserId: string): Promise<Reconciled> {
  const requestedAt = deps.now(); // events during the request are newer than its response
  const snapshots = readCustomer(await deps.billing.getCustomer(appUserId), appUserId, requestedAt);
  const result: Reconciled = { known: snapshots.length, corrected: 0 };
  for (const seen of snapshots) {
    for (const purchase of await findPurchases(deps, seen)) {
      const placed = purchase ? placeInPurchase(purchase, seen) : seen;
      if (!placed) continue;
      const secondsLeft = secondsUntilExpired(deps.config, purchase, placed, requestedAt);
      if (secondsLeft) {
        result.retryAfterSeconds = Math.min(secondsLeft, result.retryAfterSeconds ?? MAX_RETRY_AFTER_SECONDS);
      }
      const snapshot = secondsLeft === 0 ? withEnd(placed) : placed;
      if (purchase && isUpToDate(deps.config, purchase, snapshot, requestedAt)) continue;
      if (await applyCorrection(deps, snapshot, requestedAt)) result.corrected += 1;
    }
  }
  return result;
}

/**
 * Finds the purchases that a snapshot is about: by its transaction, else the customer's newest of the same product and
 * kind. On Google Play the transaction id contains the original's, so that no other purchase is meant. [null]: none is
 * stored.
 */
async function findPurchases({ db }: Deps, snapshot: SnapshotEvent): Promise<(StoredPurchase | null)[]> {
  const { store, transactionId, originalTransactionId, appUserIds, facts } = snapshot;
  const place = { provider: revenueCat.name, store, environment: snapshot.environment ?? "UNKNOWN" };
  const isOfOriginal = { originalTransactionId: originalTransactionId ?? transactionId };
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
function secondsUntilExpired(config: BillingRules, purchase: StoredPurchase | null, seen: SnapshotEvent, at: Date) {
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

function correctedPurchase(purchase: StoredPurchase | null, { store, environment, facts }: SnapshotEvent): Purchase {
  const event: PurchaseEvent = { id: "", type: "SNAPSHOT", ...facts };
  if (purchase) return { ...purchase, ...applySnapshot(purchase, event) };
  const key = { id: newId(), provider: revenueCat.name, store, environment: environment ?? "UNKNOWN" };
  return { ...key, ...foldPurchase([event]) };
}

/** Whether the snapshot would change nothing that the owner sees, now or later. */
function isUpToDate(config: BillingRules, purchase: StoredPurchase, snapshot: SnapshotEvent, at: Date): boolean {
  if (!snapshot.appUserIds.every((id) => purchase.appUserIds.includes(id))) return false;
  const corrected = correctedPurchase(purchase, snapshot);
  if (isRenewalOverdue(purchase, at) !== isRenewalOverdue(corrected, at)) return false; // the owner is notified
  const rules = statusRules(config, purchase.accountId ?? "");
  return visibleState(purchase, at, rules) === visibleState(corrected, at, rules);
}

function visibleState(purchase: Purchase, at: Date, rules: StatusRules): string {
  const seen = purchaseStatus(purchase, at, rules);
  const { status, willRenew, isLifetime, productId, periodType, entitlements } = seen;
  const ends = [seen.currentPeriodEndsAt, seen.accessEndsAt, seen.gracePeriodEndsAt, seen.resumesAt];
  const times = ends.map((time) => time && toSeconds(time));
  const ids = entitlements.map(({ id }) => id).toSorted();
  return JSON.stringify([status, willRenew, isLifetime, productId, periodType, ids, times]);
}

async function applyCorrection(deps: Deps, snapshot: SnapshotEvent, receivedAt: Date): Promise<boolean> {
  const eventId = `snapshot:${snapshot.store}:${snapshot.originalTransactionId}:${receivedAt.getTime()}`;
  const key = { provider: revenueCat.name, eventId };
  await storeEvent(deps, { ...key, event: snapshot, payload: null, receivedAt });
  const { status } = await applyEvent(deps, { ...key, accountIds: possibleAccountIds(snapshot.appUserIds) });
  return status === "processed";
}

const toSeconds = (time: Date) => Math.floor(time.getTime() / 1000);
